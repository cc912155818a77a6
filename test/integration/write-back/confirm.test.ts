import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CONFIRM_WORKFLOW,
  confirmWorkflowId,
  writeBackWorkflowId,
} from '../../../src/core/contract/write-back.js';
import { openConfirmations } from '../../../src/temporal/follow/batch-confirmation.js';
import { runCommand } from '../../support/processes.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
} from '../../support/write-back.js';

describe('`worktrack write-back confirm`', () => {
  let stack: Stack;
  const run = (...args: string[]) =>
    runCommand(stack, ['write-back', ...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);

  beforeAll(async () => {
    stack = await startWriteBackStack({
      resources: '[{ name: time-entries, window: 36500d, windowField: startedAt }]',
    });
    await stack.startWorker();
  });
  afterAll(() => stopWriteBackStack(stack));

  it('says which rows are there as they were sent', async () => {
    const file = await fileIn(stack, timeEntriesCsv(20));
    const written = await run('time-entries', file, '--no-read-back', '--json');
    expect(written.code, written.stderr).toBe(0);
    const { batchId } = JSON.parse(written.stdout) as { batchId: string };
    const [dropped, rounded] = recordsOf(stack, 'time-entries')
      .map(({ id }) => String(id))
      .slice(-20);
    stack.simulator.admin.remove('time-entries', [dropped!]);
    stack.simulator.admin.update('time-entries', rounded!, { durationSeconds: 3600 });

    const found = await run('confirm', batchId, '--json');
    expect([found.code, found.stdout === '' ? found.stderr : '']).toEqual([1, '']);
    expect(JSON.parse(found.stdout)).toEqual({
      batchId,
      counts: { confirmed: 18, differs: 1, notSeen: 1, notListed: 0 },
    });
    const receipts = await run('receipts', batchId, '--json');
    const rows = (JSON.parse(receipts.stdout) as { rows: { confirmation: string }[] }).rows;
    const all = rows.map(({ confirmation }) => confirmation);
    expect([...new Set(all)].sort()).toEqual(['confirmed', 'differs', 'notSeen']);
  });

  it('ends if it is cancelled, and not with its batch', async () => {
    const written = await run(
      'time-entries',
      await fileIn(stack, timeEntriesCsv(2, 50)),
      '--no-read-back',
      '--json',
    );
    const { batchId } = JSON.parse(written.stdout) as { batchId: string };
    const ref = { connection: stack.connection, resource: 'time-entries', batchId } as const;
    const [last] = recordsOf(stack, 'time-entries')
      .map(({ id }) => String(id))
      .slice(-1);
    stack.simulator.admin.remove('time-entries', [last!]);
    const input = {
      ...ref,
      forMs: 86_400_000,
      giveUpAfterMs: 3_600_000,
      alerts: false,
      readFirst: true,
    } as const;
    const confirming = await stack.temporal.client.workflow.start(CONFIRM_WORKFLOW, {
      ...{ workflowId: confirmWorkflowId(ref), taskQueue: stack.taskQueue, args: [input] },
    });
    const cancel = async (id: string) => {
      const args = ['cancel', id, '--config', stack.configFile, '--json'];
      const cancelled = await runCommand(stack, args);
      expect(cancelled.code, cancelled.stderr).toBe(0);
      return (JSON.parse(cancelled.stdout) as { outcome: string }).outcome;
    };
    expect(await cancel(writeBackWorkflowId(ref))).toBe('ended');
    expect((await confirming.describe()).status.name).toBe('RUNNING');
    // The shortened id, as commands print it.
    expect(await cancel(confirming.workflowId.replace(batchId, batchId.slice(0, 12)))).toBe('cancelled');
    expect((await confirming.describe()).status.name).toBe('CANCELLED');
  });

  it('looks for the rows of a batch until each is confirmed', async () => {
    const fine = await run('time-entries', await fileIn(stack, timeEntriesCsv(5, 100)), '--json');
    expect(fine.code, fine.stderr).toBe(0);
    const { batchId } = JSON.parse(fine.stdout) as { batchId: string };
    const ref = { connection: stack.connection, resource: 'time-entries', batchId } as const;
    const confirmed = stack.temporal.client.workflow.getHandle(confirmWorkflowId(ref));
    expect(await confirmed.result()).toMatchObject({ counts: { confirmed: 5, differs: 0, notSeen: 0 } });
    expect(await openConfirmations(stack.temporal, stack.connection)).toEqual([]);
  });
});
