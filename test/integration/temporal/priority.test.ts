import { afterEach, describe, expect, it } from 'vitest';
import { applySchedule, deleteSchedule, triggerSchedule } from '../../../src/temporal/schedule/schedule.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { endLocks, fileIn, timeEntriesCsv, writeBack } from '../../support/write-back.js';

describe('activities', () => {
  let stack: Stack;
  afterEach(async () => {
    await deleteSchedule(stack.temporal, stack.connection).catch(() => {});
    await endLocks(stack);
    await stack.stop();
  });

  /** Priority keys of a workflow's activities. All of them must have the connection as their fairness key. */
  const prioritiesOf = async (workflowId: string): Promise<number[]> => {
    const { events } = await stack.history(workflowId);
    return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
      if (!scheduled) return [];
      expect(scheduled.priority?.fairnessKey).toBe(stack.connection);
      return [scheduled.priority?.priorityKey ?? 0];
    });
  };

  it('carry their connection, and those of a Schedule come after those that someone started', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { 'time-entries': 3 } },
      resources: '[time-entries]',
    });
    await stack.startWorker();
    await stack.export();
    const mirror = stack.mirrorId('time-entries');
    const manual = await prioritiesOf(mirror);
    expect(new Set(manual)).toEqual(new Set([2]));

    await applySchedule(stack.temporal, stack.settings.connections[0]!, stack.taskQueue);
    await triggerSchedule(stack.temporal, stack.connection);
    // One activity, because nothing has changed.
    const scheduled = async () => (await prioritiesOf(mirror)).slice(manual.length);
    await until(async () => (await scheduled()).length > 0, 'the scheduled run has an activity');
    expect(new Set(await scheduled())).toEqual(new Set([4]));

    const file = await fileIn(stack, timeEntriesCsv(1));
    const { batchId } = await writeBack(stack, { resource: 'time-entries', file });
    const batch = `worktrack/${stack.connection}/write-back/time-entries/${batchId}`;
    expect(new Set(await prioritiesOf(batch))).toEqual(new Set([2]));
  });
});
