import { fileURLToPath } from 'node:url';
import type { InjectedSinks } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../support/stack.js';
import type { TraceSinks } from '../../support/tracing-interceptors.js';

describe('interceptors and sinks of the user, as for traces', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('see every activity from both sides, with the headers that carry the trace', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 3 } },
      resources: '[projects]',
    });
    const begun: string[] = [];
    const asked: string[] = [];
    const untraced: string[] = [];
    const sinks: InjectedSinks<TraceSinks> = {
      traces: { span: { fn: (_info, name) => void asked.push(name), callDuringReplay: false } },
    };
    const modules = [fileURLToPath(new URL('../../support/tracing-interceptors.ts', import.meta.url))];
    await stack.startWorker(stack.settings, {
      worker: {
        sinks,
        interceptors: {
          workflowModules: modules,
          activity: [
            ({ info }) => ({
              inbound: {
                execute(input, next) {
                  begun.push(info.activityType);
                  if (input.headers.traceparent === undefined) untraced.push(info.activityType);
                  return next(input);
                },
              },
            }),
          ],
        },
      },
    });
    expect((await stack.export()).outcome).toBe('published');
    expect(asked).toContain('worktrack.run');
    expect([...asked].sort()).toEqual([...begun].sort());
    expect(untraced).toEqual([]);
  });
});
