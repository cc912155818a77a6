import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { mirrorWorkflowId } from '../../../src/core/contract/index.js';
import { startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const WAITING = fileURLToPath(new URL('../../support/waiting-workflow.mjs', import.meta.url));

describe('the call stacks of workflows', () => {
  let stack: Stack;
  beforeEach(async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 3 } } });
  });
  afterEach(() => stack.stop());

  it('are recorded by other workers of the process, and not by ours', async () => {
    await stack.startWorker();
    await stack.export();
    const mirror = stack.temporal.client.workflow.getHandle(mirrorWorkflowId(stack.connection, 'projects'));
    await expect(mirror.query('__stack_trace')).rejects.toThrow('stack traces are not enabled');

    const connection = await NativeConnection.connect({ address: inject('servers').temporalAddress });
    const taskQueue = `${stack.taskQueue}-plain`;
    const plain = await Worker.create({ connection, taskQueue, workflowsPath: WAITING });
    await plain.runUntil(async () => {
      const options = { workflowId: taskQueue, taskQueue, args: [[60_000]] };
      const waiting = await stack.temporal.client.workflow.start('waiting', options);
      expect(await waiting.query('__stack_trace')).toContain('waiting-workflow');
      await waiting.terminate();
    });
    await connection.close();
  });

  it('are recorded with TEMPORAL_DEBUG', async () => {
    const worker = await startWorkerProcess(stack, { TEMPORAL_DEBUG: '1' });
    await stack.export();
    const mirror = stack.temporal.client.workflow.getHandle(mirrorWorkflowId(stack.connection, 'projects'));
    expect(await mirror.query('__stack_trace')).toContain('resourceMirrorWorkflow');
    await worker.signal('SIGTERM');
  });

  it('are still part of errors, and the log does not mention that the others are missing', async () => {
    const worker = await startWorkerProcess(stack);
    // Without its input, the workflow fails at once.
    const broken = await stack.temporal.client.workflow.start('exportWorkflow', {
      ...{ workflowId: `${stack.connection}-broken`, taskQueue: stack.taskQueue, args: [] },
    });
    const stackTraces = async (): Promise<string[]> =>
      (await broken.fetchHistory()).events!.flatMap(
        ({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.stackTrace ?? [],
      );
    await until(async () => (await stackTraces()).length > 0, 'the workflow has failed');
    expect((await stackTraces())[0]).toMatch(/at exportWorkflow .*export\.js/);
    await broken.terminate();
    await worker.signal('SIGTERM');
    expect((await worker.output()).stderr).not.toContain('promiseHooks');
  });
});
