import { afterEach, describe, expect, it } from 'vitest';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { startWorkerProcess } from '../../support/processes.js';
import { IS_LONG } from '../../support/seeds.js';
import { type Stack, until } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  recordsOf,
  stage,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
  writesSeen,
} from '../../support/write-back.js';

const ROWS = IS_LONG ? 10_000 : 2_000;
const KILLS = IS_LONG ? 3 : 1;

describe(`${ROWS} creates`, () => {
  let stack: Stack;
  afterEach(() => stopWriteBackStack(stack));

  it('make as many records with a receipt each, whatever the service loses and however often the worker is killed', async () => {
    stack = await startWriteBackStack({
      simulator: {
        // A second request of a key with another body would show as a second record or as a rejection.
        reusedKey: 'refuse',
        recentRequests: 40_000,
      },
    });
    const { faults } = stack.simulator.admin;
    const match = { method: 'POST' };
    faults.add({ match, probability: 0.02, fault: { kind: 'lose-response' } });
    faults.add({ match, probability: 0.01, fault: { kind: 'status', status: 503 } });
    faults.add({ match, probability: 0.005, fault: { kind: 'truncated-json' } });
    faults.add({ match, probability: 0.005, fault: { kind: 'reset' } });
    faults.add({ match: { ...match, every: 600 }, fault: { kind: 'status', status: 429, retryAfter: 1 } });
    const input = await stage(stack, {
      resource: 'time-entries',
      file: await fileIn(stack, timeEntriesCsv(ROWS)),
    });
    const { workflowId } = await startWriteBack(
      stack.temporal,
      { ...input, readBack: false },
      { taskQueue: stack.taskQueue },
    );
    const made = (): number => stack.simulator.admin.stats().byRoute['POST time-entries'] ?? 0;
    // Temporal takes ten seconds to notice each of them.
    for (let kill = 1; kill <= KILLS; kill++) {
      const before = made();
      const worker = await startWorkerProcess(stack);
      await until(() => made() > before + ROWS / 10, `rows are sent for the ${kill}. time`);
      await worker.signal('SIGKILL');
    }
    const worker = await startWorkerProcess(stack);
    const result = await followWriteBack(stack.temporal, workflowId, { everyMs: 100 });
    expect(result).toMatchObject({ outcome: 'written', counts: { created: ROWS, unknown: 0 }, unsent: 0 });

    const records = recordsOf(stack, 'time-entries');
    const receipts = await readReceipts(stack, input.batchId);
    expect(records.length).toBe(ROWS);
    expect(receipts.length).toBe(ROWS);
    const idOf = new Map(records.map(({ id, description }) => [description, id]));
    expect(idOf.size).toBe(ROWS);
    for (const [n, { id }] of receipts.entries()) {
      if (id !== idOf.get(`no. ${n}`)) throw new Error(`row ${n + 1} has the receipt of another record`);
    }
    // All requests for a row have the same idempotency key.
    const keys = new Set(receipts.map((receipt) => receipt.idempotency_key));
    expect(keys.size).toBe(ROWS);
    const { recent } = stack.simulator.admin.stats();
    const writes = recent.filter(({ method }) => method === 'POST');
    expect(writes.length).toBe(writesSeen(stack));
    for (const { idempotencyKey } of writes)
      if (!keys.has(idempotencyKey!)) throw new Error('a key of no row');
    for (const kind of ['lose-response', 'status', 'truncated-json', 'reset'])
      expect(
        writes.some(({ fault }) => fault === kind),
        kind,
      ).toBe(true);

    faults.clear();
    const before = writesSeen(stack);
    const again = await writeBack(stack, {
      resource: 'time-entries',
      file: await fileIn(stack, timeEntriesCsv(ROWS)),
    });
    expect(again.counts).toEqual(result.counts);
    expect(writesSeen(stack)).toBe(before);

    const handle = stack.temporal.client.workflow.getHandle(workflowId);
    expect((await handle.fetchHistory()).events!.length).toBeLessThan(200);
    await worker.signal('SIGTERM');
  });
});
