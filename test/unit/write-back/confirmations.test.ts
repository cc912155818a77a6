import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { observeConfirmation } from '../../../src/core/alerts/index.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { ConfirmationVerdict } from '../../../src/core/contract/write-back.js';
import { batchKeys } from '../../../src/write-back/batch-layout.js';
import { Confirmations } from '../../../src/write-back/confirmations.js';
import { readReceipts } from '../../../src/write-back/results.js';
import { column } from './staged.js';
import { INPUT, idOfRow, type Written, withBatch } from './written-batch.js';

/**
 * What a service makes of an accepted write. `reordered`: an earlier write of the record is applied first, and this one only before the
 * later look; `overtaken`: this one is applied first, and the earlier one before the later look.
 */
const FATES = ['fine', 'dropped', 'rounded', 'truncated', 'delayed', 'reordered', 'overtaken'] as const;
type Fate = (typeof FATES)[number];

/** The service's record of a row, if it shows one in the first look, or in a later one. */
function recordOf(row: number, fate: Fate, look: 'first' | 'later'): (string | null)[][] {
  if (fate === 'dropped' || (fate === 'delayed' && look === 'first')) return [];
  const isOlder = fate === (look === 'first' ? 'reordered' : 'overtaken');
  const n = isOlder ? -row : fate === 'rounded' ? row + 1 : row;
  const note = fate === 'truncated' ? 'row' : `row ${row}`;
  return [[idOfRow(row), String(n), note]];
}

const EXPECTED: Readonly<Record<Fate, readonly [first: ConfirmationVerdict, later: ConfirmationVerdict]>> = {
  fine: ['confirmed', 'confirmed'],
  dropped: ['notSeen', 'notSeen'],
  rounded: ['differs', 'differs'],
  truncated: ['differs', 'differs'],
  delayed: ['notSeen', 'confirmed'],
  reordered: ['differs', 'confirmed'],
  // It looks like a person who changes the record later.
  overtaken: ['confirmed', 'confirmed'],
};

const COLUMNS = [column('id', 'text'), column('n', 'integer'), column('note', 'text')];

/** The rows of a batch: their field `n` is their number, and `note` names it. */
function rowsTo(last: number): Written[] {
  return Array.from({ length: last }, (_, n) => ({ body: { n: n + 1, note: `row ${n + 1}` } }));
}

describe('the confirmations of a batch', () => {
  it('judge each row right if a service drops, rounds, truncates, delays or reorders some of the writes', async () => {
    const fate = fc.oneof(
      { weight: 19, arbitrary: fc.constant('fine' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...FATES) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 250 }), async (fates) => {
        await withBatch(rowsTo(fates.length), async (batch) => {
          for (const [at, look] of (['first', 'later'] as const).entries()) {
            await batch.publish(
              COLUMNS,
              fates.flatMap((one, n) => recordOf(n + 1, one, look)),
            );
            const { counts, open } = await batch.look();
            const expected = fates.map((one) => EXPECTED[one][at]!);
            const { found } = await batch.found();
            expect(fates.map((_, n) => found.of(n + 1))).toEqual(expected);
            expect(counts.confirmed).toBe(expected.filter((one) => one === 'confirmed').length);
            expect(open).toBe(fates.length - counts.confirmed);
          }
        });
      }),
      { numRuns: 12 },
    );
  });

  it('say what was sent and found, and are joined to the receipts', async () => {
    await withBatch(rowsTo(3), async (batch) => {
      await batch.publish(COLUMNS, [...recordOf(1, 'fine', 'first'), ...recordOf(2, 'rounded', 'first')]);
      const { since } = await batch.look();
      expect(Date.parse(since)).toBeLessThanOrEqual(Date.now() - 3_600_000);
      const { found } = await batch.found();
      expect(found.differencesOf(2)).toEqual([{ field: 'n', sent: '2', shown: '3' }]);
      const receipts: unknown[] = [];
      for await (const { row, confirmation } of readReceipts(batch.store, 'b', {}))
        receipts.push([row, confirmation]);
      expect(receipts).toEqual([
        [1, 'confirmed'],
        [2, 'differs'],
        [3, 'notSeen'],
      ]);
    });
  });

  it('stay confirmed when somebody changes or deletes the record later', async () => {
    await withBatch(rowsTo(2), async (batch) => {
      await batch.publish(
        COLUMNS,
        [1, 2].flatMap((row) => recordOf(row, 'fine', 'first')),
      );
      await batch.look();
      await batch.publish(COLUMNS, recordOf(1, 'rounded', 'first'));
      expect(await batch.look()).toMatchObject({ counts: { confirmed: 2 }, open: 0 });
    });
  });

  it.each([
    ['absent', 'no look has found anything before'],
    ['known', 'an earlier look has found something'],
  ])('keep what another look has found meanwhile, if a write arrives late or twice: %s', async (before) => {
    await withBatch(rowsTo(3), async (batch) => {
      const fine = (last: number) =>
        Array.from({ length: last }, (_, n) => recordOf(n + 1, 'fine', 'first')).flat();
      if (before === 'known') {
        await batch.publish(COLUMNS, fine(1));
        await batch.look();
      }
      // The write of this look arrives only after another look has found more.
      const write = batch.store.swap.bind(batch.store);
      const swap = vi.spyOn(batch.store, 'swap');
      let deliver = () => {};
      const sent = new Promise<Parameters<typeof write>>((resolve) => {
        swap.mockImplementationOnce(async (...request) => {
          resolve(request);
          await new Promise<void>((release) => {
            deliver = release;
          });
          return write(...request);
        });
      });
      await batch.publish(COLUMNS, fine(2));
      const late = batch.look();
      const request = await sent;
      await batch.publish(COLUMNS, fine(3));
      // This look's own write arrives twice, and the second response counts.
      swap.mockImplementationOnce(async (...again) => {
        await write(...again);
        return write(...again);
      });
      expect(await batch.look()).toMatchObject({ counts: { confirmed: 3 }, open: 0 });
      // Each record has gone since: a look alone would find none.
      await batch.publish(COLUMNS, []);
      deliver();
      expect(await late).toMatchObject({ counts: { confirmed: 3 }, open: 0 });
      // A replaced attempt can deliver the same write once more.
      expect(await write(...request)).toEqual({ outcome: 'conflict' });
      expect((await batch.found()).found.counts.confirmed).toBe(3);
    });
  });

  it('are stored in little space, and are those of one input', () => {
    const found = new Confirmations(INPUT);
    for (let row = 1; row <= 100_000; row++) found.set(row, row % 1000 === 0 ? 'differs' : 'confirmed');
    const key = batchKeys('b').confirmations;
    const body = found.encode();
    expect(body.length).toBeLessThan(20_000);
    expect(Confirmations.decode(key, body, INPUT).counts).toEqual(found.counts);
    expect(Confirmations.decode(key, body, 'other' as ObjectKey).counts.confirmed).toBe(0);
  });

  it('are an alert if a row is not there as it was sent', () => {
    const counts = { confirmed: 97, differs: 2, notSeen: 1, notListed: 4 };
    const ended = { resource: 'time-entries', batchId: 'b', ...counts };
    const [problem] = observeConfirmation(ended).problems;
    expect(problem).toMatchObject({ kind: 'rows-not-confirmed', mark: 'b 1 2' });
    expect(problem!.text).toContain('1 not seen and 2 with other values');
    expect(observeConfirmation({ ...ended, differs: 0, notSeen: 0 }).problems).toEqual([]);
  });
});
