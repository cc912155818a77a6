import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RowBuffer } from '../../../../src/lake/chunk/row-buffer.js';
import { sortRows } from '../../../../src/lake/chunk/sort-rows.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';
import { rounds } from '../../../support/seeds.js';

function bufferOf(keys: readonly string[]): RowBuffer {
  const buffer = new RowBuffer();
  for (const key of keys) buffer.add([key as SortKey], '\n', [1], 1);
  return buffer;
}

const byte = fc.oneof(fc.constantFrom(0, 1, 255), fc.integer({ min: 0x61, max: 0x63 }));
const tail = fc.string({ unit: byte.map((code) => String.fromCharCode(code)), maxLength: 10 });
/** Keys that begin in the same way, that are the beginning of others, and that are equal. */
const keys = fc
  .tuple(
    fc.constantFrom('', 'a', 'task-\0\0', 'x'.repeat(40)),
    fc.array(tail, { minLength: 1, maxLength: 200 }),
  )
  .map(([start, tails]) => tails.map((end) => start + end));

describe('Sorted rows', () => {
  it('are in the order of their keys as bytes, and those of one key in the order of the buffer', () => {
    fc.assert(
      fc.property(keys, (all) => {
        const { order, first, last, isSame } = sortRows(bufferOf(all));
        const expected = all
          .map((_, at) => at)
          .sort((a, b) => (all[a]! < all[b]! ? -1 : all[a]! > all[b]! ? 1 : a - b));
        expect([...order]).toEqual(expected);
        expect([first, last]).toEqual([all[expected[0]!], all[expected.at(-1)!]]);
        for (const at of expected.slice(1)) expect(isSame(0, at)).toBe(all[0] === all[at]);
      }),
      { numRuns: rounds(200) },
    );
  });

  it('keep the order of a buffer that is sorted', () => {
    const sorted = sortRows(bufferOf(['a', 'a\0', 'aa', 'b']));
    expect([...sorted.order]).toEqual([0, 1, 2, 3]);
  });
});
