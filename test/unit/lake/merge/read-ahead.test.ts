import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Block } from '../../../../src/lake/documents/block-index.js';
import { type AheadReader, READ_AHEAD, ReadAhead } from '../../../../src/lake/part/reader.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';
import { blocksIn, maxOverlap } from '../../../../src/run/key-ranges.js';

const keyOf = (n: number) => String(n).padStart(4, '0') as SortKey;
const blockOf = (first: number, last = first) => ({ first: keyOf(first), last: keyOf(last) }) as Block;

/** Reads one block in each request. */
class OneByOne implements AheadReader {
  readonly blocks: readonly Block[];
  isAhead = false;
  #requested = 0;

  constructor(blocks: readonly Block[]) {
    this.blocks = blocks;
  }

  get nextAhead(): Block | null {
    return this.isAhead ? null : (this.blocks[this.#requested] ?? null);
  }

  requestAhead(): void {
    this.isAhead = true;
    this.#requested++;
  }
}

describe('Reading ahead in a merge', () => {
  const runs = fc.array(fc.uniqueArray(fc.nat(9999), { minLength: 1, maxLength: 30 }), {
    minLength: 1,
    maxLength: 40,
  });

  it('has always requested the block that the merge needs next, and never too many', () => {
    fc.assert(
      fc.property(runs, (firsts) => {
        const readers = firsts.map(
          (keys) => new OneByOne([...keys].sort((a, b) => a - b).map((n) => blockOf(n))),
        );
        const ahead = new ReadAhead();
        for (const reader of readers) ahead.add(reader);
        ahead.fill();
        const inOrder = readers
          .flatMap((reader) => reader.blocks.map(({ first }) => ({ reader, first })))
          .sort((a, b) => (a.first < b.first ? -1 : 1));
        for (const [at, { reader }] of inOrder.entries()) {
          // Of two blocks with the same first key, either can be requested first.
          const isTie = inOrder[at + 1]?.first === inOrder[at]!.first;
          if (!isTie) expect(reader.isAhead).toBe(true);
          const [waiting, left] = [
            readers.filter(({ isAhead }) => isAhead),
            new Set(inOrder.slice(at).map((one) => one.reader)),
          ];
          expect(waiting.length).toBe(Math.min(READ_AHEAD, left.size));
          reader.isAhead = false;
          ahead.fill();
        }
      }),
    );
  });
});

describe('The blocks of a key range', () => {
  it('are all that share a key with it, and no others', () => {
    const bound = fc.option(fc.nat(60));
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(60), { maxLength: 20 }), bound, bound, (keys, from, to) => {
        // The ranges of a merge are not empty.
        fc.pre(from === null || to === null || from < to);
        const sorted = [...keys].sort((a, b) => a - b);
        const blocks = sorted.flatMap((first, at) => {
          const last = sorted[at + 1];
          return at % 2 === 0 && last !== undefined ? [blockOf(first, last)] : [];
        });
        const inside = Array.from({ length: 61 }, (_, n) => n)
          .filter((n) => (from === null || n >= from) && (to === null || n < to))
          .map(keyOf);
        const range = { from: from === null ? null : keyOf(from), to: to === null ? null : keyOf(to) };
        expect(blocksIn(blocks, range)).toEqual(
          blocks.filter(({ first, last }) => inside.some((key) => first <= key && key <= last)),
        );
      }),
    );
  });
});

describe('The deepest overlap of chunks', () => {
  const chunk = fc
    .tuple(fc.nat(30), fc.nat(10))
    .map(([first, length]) => ({ first: keyOf(first), last: keyOf(first + length) }));

  it('is the largest number of chunks that share a key', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
        const at = Array.from({ length: 41 }, (_, n) => keyOf(n)).map(
          (key) => chunks.filter(({ first, last }) => first <= key && key <= last).length,
        );
        expect(maxOverlap(chunks)).toBe(Math.max(...at));
      }),
    );
  });
});
