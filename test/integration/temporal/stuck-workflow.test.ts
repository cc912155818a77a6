import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { inLightThread } from '../../../src/temporal/worker/workflow-threads.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const workflowsPath = fileURLToPath(new URL('../../support/stuck-workflow.mjs', import.meta.url));

describe('a workflow that does not return from a call', () => {
  let stack: Stack;
  let connection: NativeConnection;
  beforeEach(async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 3 } } });
    connection = await NativeConnection.connect({ address: inject('servers').temporalAddress });
  });
  afterEach(async () => {
    await connection.close();
    await stack.stop();
  });

  const options = () => ({ connection, taskQueue: stack.taskQueue, workflowsPath });
  let started = 0;
  const start = (type: string, ...args: unknown[]) =>
    stack.temporal.client.workflow.start(type, {
      workflowId: `${stack.taskQueue}-${started++}`,
      taskQueue: stack.taskQueue,
      args,
    });

  it('ends a worker with trusted workflows, whose calls have no time limit', async () => {
    const worker = await inLightThread(() => Worker.create(options()), {
      isTrusted: true,
      longestCallMs: 3_000,
    });
    const running = worker.run().catch((error: unknown) => error);
    // A workflow that waits for longer than a call may take has returned from its calls.
    expect(await (await start('waiting', [4_000])).result()).toHaveLength(1);
    // Others wait for the thread at the same time.
    const around = () => Array.from({ length: 5 }, () => start('waiting', [60_000]));
    const [stuck, ...others] = await Promise.all([start('stuck'), ...around(), ...around()]);
    const error = String(await running);
    expect(error).toContain('a call into workflow code has not returned for 3 s');
    expect(error).toContain(`The run ID is ${stuck!.firstExecutionRunId}.`);
    for (const one of [stuck, ...others]) await one!.terminate();
  });

  it('fails only its task in a worker with other workflows', async () => {
    const worker = await inLightThread(() => Worker.create(options()), { isTrusted: false });
    await worker.runUntil(async () => {
      const stuck = await start('stuck');
      const hasFailed = async (): Promise<boolean> =>
        ((await stuck.fetchHistory()).events ?? []).some((event) => event.workflowTaskFailedEventAttributes);
      await until(hasFailed, 'the task has failed');
      expect(await (await start('waiting', [1])).result()).toHaveLength(1);
      await stuck.terminate();
    });
  });
});
