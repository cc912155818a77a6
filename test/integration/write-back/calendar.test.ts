import { afterEach, describe, expect, it } from 'vitest';
import { drawn } from '../../support/seeds.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  writeBack,
  writesSeen,
} from '../../support/write-back.js';

const START = '2026-11-20T08:00:00Z';

describe('writing calendar entries back', () => {
  let stack: Stack;
  afterEach(() => stopWriteBackStack(stack));

  // test/unit/write-back/receipts.test.ts has the request of each style.
  for (const style of drawn(['put-path', 'put-body', 'post-body'], 1, (one) => one === 'put-path')) {
    it(`upserts by source and sourceKey in the style ${style}`, async () => {
      stack = await startWriteBackStack({
        resources: '[{ name: calendar-entries, key: [source, sourceKey] }]',
        yaml: `    writeBack: { calendar-entries: { style: ${style} } }\n`,
      });
      await stack.startWorker();
      const key = 'event/1 ?#%';
      const csv = `source,sourceKey,title,startsAt\ncal,${key},first,${START}\ncal,2,007,${START}\n`;
      const made = await writeBack(stack, { resource: 'calendar-entries', file: await fileIn(stack, csv) });
      expect(made).toMatchObject({ outcome: 'written', counts: { created: 2, updated: 0 } });
      const changed = `source,sourceKey,title,startsAt\ncal,${key},second,${START}\n`;
      const result = await writeBack(stack, {
        resource: 'calendar-entries',
        file: await fileIn(stack, changed),
      });
      expect(result).toMatchObject({ outcome: 'written', counts: { created: 0, updated: 1 } });
      const records = recordsOf(stack, 'calendar-entries');
      expect(records.length).toBe(2);
      expect(records.find(({ sourceKey }) => sourceKey === key)).toMatchObject({
        source: 'cal',
        title: 'second',
        startsAt: START,
      });
      expect(records.find(({ sourceKey }) => sourceKey === '2')).toMatchObject({ title: '007' });
      const [receipt] = await readReceipts(stack, result.batchId);
      expect(receipt).toMatchObject({ outcome: 'updated', http_status: '200' });
      const { byRoute } = stack.simulator.admin.stats();
      expect(Object.keys(byRoute)).toContain(`${style === 'post-body' ? 'POST' : 'PUT'} calendar-entries`);
    });
  }

  it('lets the last of several rows with the same pair win, and reports the others', async () => {
    stack = await startWriteBackStack({ resources: '[calendar-entries]' });
    await stack.startWorker();
    const rows = Array.from({ length: 200 }, (_, n) => ({
      source: 'cal',
      sourceKey: `k${n % 50}`,
      title: `version ${Math.floor(n / 50)}`,
      startsAt: START,
    }));
    const file = await fileIn(stack, JSON.stringify(rows, null, 2), 'json');
    const result = await writeBack(stack, { resource: 'calendar-entries', file, lastWins: true });
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 50, superseded: 150 } });
    expect(writesSeen(stack)).toBe(50);
    const records = recordsOf(stack, 'calendar-entries');
    expect(new Set(records.map(({ title }) => title))).toEqual(new Set(['version 3']));
    const receipts = await readReceipts(stack, result.batchId);
    expect(receipts[0]).toMatchObject({
      outcome: 'superseded',
      id: null,
      message: 'row 151 has the same source and sourceKey',
    });
    expect(receipts[199]).toMatchObject({ outcome: 'created' });
  });
});
