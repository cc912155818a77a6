import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { parseRunDate } from '../../../src/core/run-id.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

describe('A mirror that is reset to the middle of its last run, while none of its activities is running', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('publishes the run again under a later id, and leaves what it had published', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 12 }, awkward: false },
      resources: '[projects]',
      yaml: '    sync: { pageSize: 2 }\n',
    });
    await stack.startWorker();
    const { admin } = stack.simulator;
    const ids = admin.records('projects').map(idOf).slice(0, 5);
    const { client } = stack.temporal;
    const workflowId = stack.mirrorId('projects');
    const change = (name: string) => {
      for (const id of ids) admin.update('projects', id, { name });
    };
    await stack.export();
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    change('of the second night');
    const { runs } = await stack.export();
    expect(runs[0]).toMatchObject({ outcome: 'published' });
    change('of the third day');
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    // The workflow task that requested the run's first activity.
    const swap = events!.findLast(({ activityTaskScheduledEventAttributes: task }) =>
      /^worktrack\.(publish|run)$/.test(task?.activityType?.name ?? ''),
    )!;
    const first = events!.findLast(
      ({ eventId, activityTaskScheduledEventAttributes: task }) =>
        Number(eventId) <= Number(swap.eventId) &&
        /^worktrack\.(prepareRun|run)$/.test(task?.activityType?.name ?? ''),
    )!;
    await client.workflowService.resetWorkflowExecution({
      ...{ namespace: client.options.namespace, requestId: randomBytes(8).toString('hex'), reason: 'test' },
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: first.activityTaskScheduledEventAttributes!.workflowTaskCompletedEventId!,
    });
    const before = runs[0]!.runId!;
    const published = async () => (await readPointer(stack.store, 'projects')).runId;
    await until(async () => (await published()) !== before, 'the run is published again');
    // Not only by the random end of its id.
    expect(parseRunDate(await published())).toBeGreaterThan(parseRunDate(before));
    expect((await verifySnapshot(stack.store, 'projects')).problems).toEqual([]);
  });
});
