import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import type { RepeatCall, TemporalClient } from '../../../src/temporal/client/connect.js';
import { parseHistory, replayHistories, serverHistories } from '../../../src/temporal/replay.js';

const ROOT = resolve(import.meta.dirname, '../../..');

it('lists and fetches histories again while the server does not answer, running ones first, up to the limit', async () => {
  let refusals = 0;
  const mayRefuse = () => {
    // Every second call fails.
    if (refusals++ % 2 === 0) throw new Error('unavailable');
  };
  const fetched: string[] = [];
  const workflow = {
    async *list({ query }: { readonly query: string }) {
      const kind = query.includes('!=') ? 'ended' : 'running';
      yield { workflowId: `${kind}-1`, runId: '1' };
      mayRefuse();
      yield { workflowId: `${kind}-2`, runId: '2' };
    },
    getHandle: (id: string) => ({
      async fetchHistory() {
        mayRefuse();
        fetched.push(id);
        return { events: [] };
      },
    }),
  };
  const temporal = { client: { workflow } } as unknown as TemporalClient;
  const repeat: RepeatCall = (call) => call().catch(() => call());
  const names: string[] = [];
  for await (const { name } of serverHistories(temporal, { taskQueue: 'q', limit: 3, repeat }))
    names.push(name);
  expect(names).toEqual(['running-1', 'running-2', 'ended-1']);
  expect(fetched).toEqual(names);
  refusals = 0;
  const once = serverHistories(temporal, { taskQueue: 'q' });
  await expect(once.next()).rejects.toThrow('unavailable');
});

function recorded(name: string) {
  const text = readFileSync(join(ROOT, 'test/replay/histories', `${name}.json`), 'utf8');
  return parseHistory(name, text);
}

it('bundles the workflows of an application once for all histories, with what its plugins add', async () => {
  let bundled = 0;
  let configured = 0;
  const replayed = replayHistories(
    [
      recorded('exportWorkflow.published'),
      recorded('exportWorkflow.full'),
      recorded('backfillWorkflow.of-no-resource'),
    ],
    {
      workflowsPath: join(ROOT, 'test/support/upgrade/0.2.0.mjs'),
      bundlerOptions: {
        webpackConfigHook(config) {
          bundled++;
          return config;
        },
      },
      plugins: [
        {
          name: 'application',
          configureReplayWorker(options) {
            configured++;
            return { ...options, workflowsPath: join(ROOT, 'workflows/index.ts') };
          },
        },
      ],
    },
  );
  const outcomes: string[] = [];
  for await (const { name, outcome, error } of replayed) outcomes.push(`${name}: ${error ?? outcome}`);
  expect(outcomes).toEqual([
    'exportWorkflow.published: replayed',
    'exportWorkflow.full: replayed',
    'backfillWorkflow.of-no-resource: replayed',
  ]);
  expect([bundled, configured]).toEqual([1, 1]);
});
