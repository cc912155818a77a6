import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mirrorWorkflowId } from '../../../src/core/contract/index.js';
import { startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

describe('the call stacks of workflows', () => {
  let stack: Stack;
  beforeEach(async () => {
    stack = await startStack({ resources: '[projects]', simulator: { counts: { projects: 3 } } });
  });
  afterEach(() => stack.stop());

  it('call stacks of a waiting workflow are shown on request, and those of errors are in the history', async () => {
    const worker = await startWorkerProcess(stack);
    await stack.export();
    const mirror = stack.temporal.client.workflow.getHandle(mirrorWorkflowId(stack.connection, 'projects'));
    expect(await mirror.query('__stack_trace')).toContain('resourceMirrorWorkflow');
    // Without its input, the workflow fails immediately.
    const broken = await stack.temporal.client.workflow.start('exportWorkflow', {
      ...{ workflowId: `${stack.connection}-broken`, taskQueue: stack.taskQueue, args: [] },
    });
    const stackTraces = async (): Promise<string[]> =>
      (await broken.fetchHistory()).events!.flatMap(
        ({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.stackTrace ?? [],
      );
    await until(async () => (await stackTraces()).length > 0, 'the workflow has failed');
    expect((await stackTraces())[0]).toMatch(/at exportWorkflow .*workflows\/export\//);
    await broken.terminate();
    await worker.signal('SIGTERM');
  });
});
