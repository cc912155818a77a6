import { describe, expect, it } from 'vitest';
import { EarlierRows, withEarlierOutcome } from '../../../activities/write-back/earlier-plans.js';
import { ChunkWriter } from '../../../activities/write-back/plan-write-back.js';
import { type StoredPlan, writePlan } from '../../../activities/write-back/stored-batch.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import { planKey } from '../../../src/write-back/batch-layout.js';
import { type ChunkRow, isPending } from '../../../src/write-back/plan-file.js';
import type { PlannedRow } from '../../../src/write-back/planner.js';
import { resendRule } from '../../../src/write-back/resend.js';
import { temporaryLake } from '../lake/data-plane.js';

const ROW: PlannedRow = {
  ...{ row: 1, line: 2, key: 'k', idempotencyKey: 'u', content: 'old', pair: null },
  ...{ body: '{"n":1}', verdict: null },
};
const CREATED = { outcome: 'created', status: 201, id: 'x', message: null } as const;
const REJECTED = { outcome: 'rejected', status: 422, id: null, message: 'no' } as const;
const SETTLED = { ...REJECTED, status: null, byHand: true } as const;
const SAID = { status: 500, message: 'failed', isComplete: true } as const;
const TWIN = { outcome: 'rejected', message: 'row 1 has the same key and different content' } as const;
const UNCHANGED = { outcome: 'skipped', message: 'unchanged' } as const;

describe('a row of a later plan of its batch', () => {
  const lake = temporaryLake();

  /** A batch whose plans have had the row, each as it says. */
  async function batch(...rows: Partial<ChunkRow>[]): Promise<EarlierRows> {
    const plans: StoredPlan[] = [];
    const input = lake.newKey('.csv');
    for (const [at, row] of rows.entries()) {
      const key = planKey(input.replaceAll('/', '-'), `00000${at + 1}-x-10`) as ObjectKey;
      const writer = new ChunkWriter(lake.store, key, 'w', 10);
      await writer.add({ ...ROW, receipt: null, sentAt: null, ...row });
      const { chunks, pending } = await writer.finish();
      const file = { sequence: at + 1, baseUrl: 'http://127.0.0.1:1', input, rows: 1, writer: 'w' };
      plans.push(await writePlan(lake.store, key, { ...file, chunks, pending }));
    }
    return EarlierRows.read(lake.store, plans, new AbortController().signal);
  }

  const later = async (earlier: Partial<ChunkRow>[], content: string, isCorrected: boolean) =>
    withEarlierOutcome({ ...ROW, content }, await batch(...earlier), { isCorrected, isResent: false });

  it.each<[what: string, earlier: Partial<ChunkRow>, keyNumber: number | null]>([
    ['rejected', { receipt: REJECTED }, 1],
    ['rejected with its third key', { receipt: REJECTED, keyNumber: 2 }, 3],
    ['rejected, and sent again without an answer', { stands: REJECTED, sentAt: 5 }, null],
    ['in doubt', { sentAt: 5 }, null],
    ['in doubt after an answer', { sentAt: 5, said: SAID }, null],
    ['written', { receipt: CREATED }, null],
  ])(
    'is sent with a correction only if it was rejected, and then with the next key: %s',
    async (_, row, keyNumber) => {
      const found = await later([row], 'new', true);
      const sent = resendRule(
        { rows: 'corrected', action: 'send', corrections: null as never },
        new Set([1]),
      )(found);
      expect(isPending(sent)).toBe(keyNumber !== null);
      if (keyNumber !== null) expect(sent).toMatchObject({ keyNumber, content: 'new' });
      // Its outcome stays as it was.
      else
        expect(sent).toMatchObject({
          content: 'old',
          receipt: row.receipt ?? null,
          sentAt: row.sentAt ?? null,
        });
    },
  );

  it.each<[what: string, row: Partial<ChunkRow>]>([
    ['rejected', { receipt: REJECTED }],
    ['settled', { receipt: SETTLED }],
    ['in doubt', { sentAt: 5 }],
    ['written', { receipt: CREATED }],
  ])('is not sent with another content that no user has asked for: %s', async (_, row) => {
    expect((await later([row], 'new', false)).verdict).toMatchObject({ outcome: 'rejected' });
  });

  it.each<[what: string, plans: Partial<ChunkRow>[], expected: Partial<ChunkRow>]>([
    ['in doubt, then not sent', [{ sentAt: 5 }, { verdict: TWIN }], { sentAt: 5 }],
    ['written, then not sent', [{ receipt: CREATED }, { verdict: TWIN }], { receipt: CREATED }],
    ['not sent, then written', [{ verdict: TWIN }, { receipt: CREATED }], { receipt: CREATED }],
    ['in doubt, then written', [{ sentAt: 5 }, { receipt: CREATED }], { receipt: CREATED, sentAt: null }],
    ['rejected, then in doubt', [{ receipt: REJECTED }, { sentAt: 7 }], { receipt: null, sentAt: 7 }],
    [
      'never sent, then unchanged',
      [{}, { verdict: UNCHANGED, unchanged: true }],
      { receipt: null, sentAt: null },
    ],
  ])('has what the last plan says that may have sent it: %s', async (_, plans, expected) => {
    expect(await later(plans, 'old', false)).toMatchObject({ verdict: null, ...expected });
  });
});
