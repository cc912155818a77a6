import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowNumbers } from '../../../src/cli/write-back/resend-command.js';
import type { ResendOrder } from '../../../src/core/contract/write-back.js';
import { type ChunkRow, isPending } from '../../../src/write-back/plan-file.js';
import { BatchPlanner } from '../../../src/write-back/planner.js';
import { resendRule } from '../../../src/write-back/resend.js';
import { resultOf } from '../../../src/write-back/results.js';
import { rowsOf } from './support.js';

const FRESH: ChunkRow = {
  ...{ row: 3, line: 4, key: 'k', idempotencyKey: 'u', content: '00', pair: null, body: '{}' },
  ...{ verdict: null, receipt: null, sentAt: null },
};
const CREATED = { outcome: 'created', status: 201, id: 'x', message: null } as const;
const REJECTED = { outcome: 'rejected', status: 422, id: null, message: 'no' } as const;
const SKIPPED = { outcome: 'skipped', status: null, id: null, message: 'm' } as const;
const SAID = { status: 500, message: 'failed', isComplete: true } as const;
const ROWS = {
  fresh: FRESH,
  written: { ...FRESH, receipt: CREATED },
  rejected: { ...FRESH, receipt: REJECTED },
  byHand: { ...FRESH, receipt: { ...REJECTED, byHand: true } },
  byHandInDoubt: { ...FRESH, receipt: { ...REJECTED, byHand: true, sentAt: 5 } },
  unknown: { ...FRESH, sentAt: 5, said: SAID },
  skipped: { ...FRESH, receipt: SKIPPED },
  wrong: { ...FRESH, verdict: { outcome: 'rejected', message: 'same key' } },
} satisfies Record<string, ChunkRow>;
type Kind = keyof typeof ROWS;
const KINDS = Object.keys(ROWS) as Kind[];

const NONE: ReadonlySet<number> = new Set();

const sent = (order: ResendOrder): Kind[] =>
  KINDS.filter((kind) => isPending(resendRule(order, NONE)(ROWS[kind])));

describe('an order for rows of a batch', () => {
  it('sends exactly the rows that it asks for, and never one that is written or that the input rejects', () => {
    const table: [order: ResendOrder, sends: Kind[]][] = [
      [{ rows: 'rejected', action: 'send' }, ['rejected']],
      [{ rows: 'unknown', action: 'send' }, ['unknown']],
      [{ rows: 'unknown', action: 'new-key' }, ['unknown']],
      [{ rows: [3], action: 'send' }, ['fresh', 'rejected', 'byHand', 'byHandInDoubt', 'unknown']],
      [{ rows: [3], action: 'new-key' }, ['fresh', 'rejected', 'byHand', 'byHandInDoubt', 'unknown']],
      [{ rows: [1, 2, 4], action: 'send' }, []],
      [{ rows: [3], action: 'reject' }, []],
      [{ rows: 'rejected', action: 'reject' }, []],
    ];
    for (const [order, sends] of table) expect(sent(order), JSON.stringify(order)).toEqual(sends);
  });

  it('changes no outcome of a row before it is sent, except that it settles rows as rejected', () => {
    for (const rows of ['rejected', 'unknown', [3], [4]] as const) {
      for (const action of ['send', 'new-key', 'reject'] as const) {
        const decide = resendRule({ rows, action }, NONE);
        for (const kind of KINDS) {
          const [before, after] = [resultOf(ROWS[kind], undefined), resultOf(decide(ROWS[kind]), undefined)];
          if (after?.byHand === true && before?.byHand !== true) expect(action).toBe('reject');
          else expect(after?.outcome, `${kind} ${action}`).toBe(before?.outcome);
        }
      }
    }
  });

  it('knows when a row may have been sent, even after a user has settled it', () => {
    const settled = resendRule({ rows: 'unknown', action: 'reject' }, NONE)(ROWS.unknown);
    expect(settled.receipt).toMatchObject({ outcome: 'rejected', byHand: true, sentAt: 5 });
    for (const row of [settled, resendRule({ rows: [3], action: 'reject' }, NONE)(settled)])
      expect(resendRule({ rows: [3], action: 'send' }, NONE)(row)).toMatchObject({
        receipt: null,
        sentAt: 5,
      });
    const unsent = resendRule({ rows: [3], action: 'reject' }, NONE)(ROWS.rejected);
    expect(resendRule({ rows: [3], action: 'send' }, NONE)(unsent).sentAt).toBeNull();
  });

  it('gives a key its next number only when the last one has an answer', () => {
    const next = (row: ChunkRow) => resendRule({ rows: [3], action: 'new-key' }, NONE)(row).keyNumber;
    expect([next(ROWS.fresh), next(ROWS.rejected), next(ROWS.unknown)]).toEqual([1, 1, 1]);
    const unanswered = { ...ROWS.unknown, keyNumber: 1, said: { ...SAID, isComplete: false } };
    expect(next(unanswered)).toBe(1);
    expect(next({ ...ROWS.fresh, keyNumber: 1 })).toBe(1);
    expect(next({ ...ROWS.unknown, keyNumber: 1 })).toBe(2);
    expect(next({ ...ROWS.rejected, keyNumber: 7 })).toBe(8);
    // The answer to the earlier key is not one to the new key.
    expect(resendRule({ rows: [3], action: 'new-key' }, NONE)(ROWS.unknown).said?.isComplete).toBe(false);
    expect(
      resendRule({ rows: [3], action: 'send' }, NONE)({ ...ROWS.rejected, keyNumber: 7 }).keyNumber,
    ).toBe(7);
  });
});

describe('a corrected row', () => {
  const planned = async (
    rows: readonly string[],
    corrections: ReadonlyMap<number, string>,
    keyColumn: string | null,
  ) => {
    const batch = { connection: 'acme', resource: 'time-entries', batchId: 'b', keyColumn } as const;
    const planner = new BatchPlanner(batch);
    const [main, other] = await Promise.all(
      [rows, [...corrections.values()]].map((lines) => rowsOf(['k,v', ...lines, ''].join('\n'))),
    );
    const sent = new Map([...corrections.keys()].map((at, n) => [at, other![n]!]));
    for (const [at, row] of main!.entries()) planner.survey(row, sent.get(at));
    return main!.map((row, at) => planner.plan(row, sent.get(at)));
  };

  it('changes the key and the content of no other row, also of equal ones', async () => {
    // Few values, so that rows are equal.
    const row = fc.constantFrom('a,1', 'a,2', 'b,1');
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 8 }),
        fc.nat(7),
        row,
        async (rows, at, other) => {
          const number = at % rows.length;
          const before = await planned(rows, new Map(), null);
          const after = await planned(rows, new Map([[number, other]]), null);
          expect(after.map(({ key, idempotencyKey }) => [key, idempotencyKey])).toEqual(
            before.map(({ key, idempotencyKey }) => [key, idempotencyKey]),
          );
          expect(after.filter((_, n) => n !== number)).toEqual(before.filter((_, n) => n !== number));
          expect(JSON.parse(after[number]!.body)).toEqual({ k: other[0], v: other[2] });
        },
      ),
    );
  });

  it('has the key of its new content in a batch with a key column', async () => {
    const [, second] = await planned(['a,1', 'a,2'], new Map([[1, 'b,2']]), 'k');
    expect(second).toMatchObject({ key: 'b', verdict: null, row: 2, line: 3 });
    const [, same] = await planned(['a,1', 'b,2'], new Map([[1, 'a,2']]), 'k');
    expect(same?.verdict?.message).toContain('row 1 has the same key and different content');
  });
});

describe('a list of row numbers', () => {
  it('has numbers and ranges, in any order', () => {
    expect(rowNumbers('9, 3,4-6,5')).toEqual([3, 4, 5, 6, 9]);
    for (const text of ['', '0', '3-', '5-4', '1,,2', 'a', '1-1001', '-3', '1e3', '1.5'])
      expect(() => rowNumbers(text), text).toThrow(/row numbers|rows/);
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 1e9 - 1 }), { minLength: 1, maxLength: 50 }),
        (rows) => {
          expect(rowNumbers(rows.join())).toEqual([...rows].sort((a, b) => a - b));
        },
      ),
    );
  });
});
