import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../support/stack.js';
import {
  endLanes,
  fileIn,
  readReceipts,
  recordsOf,
  timeEntriesCsv,
  writeBack,
  writesSeen,
} from '../support/write-back.js';

const SIMULATOR = {
  awkward: false,
  counts: { projects: 1, tasks: 0, 'time-entries': 0, 'calendar-entries': 0 },
};

describe('writing time entries back', () => {
  let stack: Stack;
  beforeEach(async () => {
    stack = await startStack({ simulator: SIMULATOR, resources: '[time-entries]' });
    await stack.startWorker();
  });
  afterEach(async () => {
    await endLanes(stack);
    await stack.stop();
  });

  it('creates each row once, with a receipt that names the record', async () => {
    const file = await fileIn(stack, timeEntriesCsv(300));
    const result = await writeBack(stack, { resource: 'time-entries', file });
    expect(result).toMatchObject({
      outcome: 'written',
      counts: { created: 300, rejected: 0, unknown: 0 },
      unsent: 0,
    });
    const receipts = await readReceipts(stack, result.batchId);
    const records = recordsOf(stack, 'time-entries');
    expect(records.length).toBe(300);
    expect(receipts.map(({ row }) => row)).toEqual(Array.from({ length: 300 }, (_, n) => String(n + 1)));
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const [n, { id, outcome, http_status }] of receipts.entries()) {
      expect({ outcome, http_status }).toEqual({ outcome: 'created', http_status: '201' });
      expect(byId.get(id)).toMatchObject({ description: `no. ${n}`, billable: n % 2 === 0 });
    }
    const again = await writeBack(stack, { resource: 'time-entries', file });
    expect(again).toEqual(result);
    expect(writesSeen(stack)).toBe(300);
  });
});
