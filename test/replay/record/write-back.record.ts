import { it } from 'vitest';
import { confirmWorkflowId, writeBackLockId } from '../../../src/core/contract/write-back.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { startConfirmation } from '../../../src/temporal/follow/batch-confirmation.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { until } from '../../support/stack.js';
import { endLocks, fileIn, recordsOf, stage, timeEntriesCsv } from '../../support/write-back.js';
import { record, stack, started } from './recorder.js';

async function wroteBack(path: string, csv: string, batchId: string): Promise<void> {
  const file = await fileIn(stack, csv);
  const staged = await stage(stack, { resource: 'time-entries', file, batchId });
  // The rows of these batches are the same.
  const input = { ...staged, written: 'again' } as const;
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  await followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
  await record('writeBackWorkflow', path, workflowId);
}

it('records written, reported, rejected, refused and cancelled batches', async () => {
  await started({
    simulator: { awkward: false, counts: { 'time-entries': 0 } },
    resources: '[time-entries]',
  });
  await wroteBack('written', timeEntriesCsv(20), 'one');
  await wroteBack('reported', timeEntriesCsv(20), 'one');
  await wroteBack('rejected', `${timeEntriesCsv(3)}x,-1,2026-11-02T08:00:00Z,true\n`, 'two');
  stack.simulator.admin.faults.add({ match: { method: 'POST' }, fault: { kind: 'latency', ms: 100 } });
  const file = await fileIn(stack, timeEntriesCsv(2000));
  const staged = await stage(stack, { resource: 'time-entries', file, batchId: 'four' });
  const input = { ...staged, written: 'again' } as const;
  const made = (): number => stack.simulator.admin.stats().byRoute['POST time-entries'] ?? 0;
  const before = made();
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  const waits = { ...input, batchId: 'five' };
  await until(() => made() > before + 5, 'rows are sent');
  const waiting = await startWriteBack(stack.temporal, waits, { taskQueue: stack.taskQueue });
  const stageOf = async (): Promise<string> =>
    (await stack.temporal.client.workflow.getHandle(waiting.workflowId).query<{ stage: string }>('progress'))
      .stage;
  await until(async () => (await stageOf()) === 'wait', 'another batch waits');
  for (const one of [waiting.workflowId, workflowId]) {
    await stack.temporal.client.workflow.getHandle(one).cancel();
    await followWriteBack(stack.temporal, one, { everyMs: 50 });
  }
  await record('writeBackWorkflow', 'cancelled', workflowId);
  await record('writeBackWorkflow', 'cancelled-while-waiting', waiting.workflowId);
  await record('writeBackLockWorkflow', 'batches', writeBackLockId(stack.connection, 'time-entries'));
  stack.simulator.admin.faults.clear();
  stack.simulator.admin.keys.revoke('demo');
  await wroteBack('refused', timeEntriesCsv(9), 'six');
  await endLocks(stack);
});

it('records a confirmed batch of upserts, and how its rows are looked for', async () => {
  await started({
    simulator: { awkward: false, counts: { 'calendar-entries': 0 }, windowDays: 36_500 },
    resources: '[{ name: calendar-entries, windowField: startsAt }]',
  });
  const start = '2026-11-20T08:00:00Z';
  const file = await fileIn(stack, `source,sourceKey,title,startsAt\ncal,1,a,${start}\ncal,2,b,${start}\n`);
  const input = await stage(stack, {
    ...{ resource: 'calendar-entries', file, batchId: 'upserts', skipUnchanged: true },
  });
  const { workflowId } = await startWriteBack(stack.temporal, input, { taskQueue: stack.taskQueue });
  await followWriteBack(stack.temporal, workflowId, { everyMs: 50 });
  await record('writeBackWorkflow', 'upserts', workflowId);
  const confirmed = confirmWorkflowId(input);
  await stack.temporal.client.workflow.getHandle(confirmed).result();
  await record('confirmWriteBackWorkflow', 'confirmed', confirmed);
  // It waits for its increment with a timer.
  const undoable = { ...input, batchId: 'undoable', skipUnchanged: false };
  const timed = await startWriteBack(stack.temporal, undoable, { taskQueue: stack.taskQueue });
  await followWriteBack(stack.temporal, timed.workflowId, { everyMs: 50 });
  await record('writeBackWorkflow', 'undoable', timed.workflowId);
  await stack.temporal.client.workflow.getHandle(confirmWorkflowId(undoable)).result();
  const [first] = recordsOf(stack, 'calendar-entries');
  stack.simulator.admin.update('calendar-entries', String(first!.id), { title: 'by a person' });
  const other = { ...input, batchId: 'others', skipUnchanged: false, readBack: false };
  const again = await startWriteBack(stack.temporal, other, { taskQueue: stack.taskQueue });
  await followWriteBack(stack.temporal, again.workflowId, { everyMs: 50 });
  stack.simulator.admin.update('calendar-entries', String(first!.id), { title: 'once more' });
  const plan = { forMs: 0, giveUpAfterMs: 3_600_000, alerts: true };
  const once = await startConfirmation(stack.temporal, { ...other, ...plan }, stack.taskQueue);
  await stack.temporal.client.workflow.getHandle(once).result();
  await record('confirmWriteBackWorkflow', 'on-demand', once);
  await endLocks(stack);
});
