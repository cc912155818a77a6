import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { READ_AHEAD, SourceHeap } from '../../../../src/lake/merge/heap.js';
import { maxOverlap } from '../../../../src/lake/merge/keys.js';
import { MergeSource } from '../../../../src/lake/merge/source.js';
import type { Block } from '../../../../src/lake/part/index-file.js';
import type { BlockReader } from '../../../../src/lake/part/reader.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';

const keyOf = (n: number) => String(n).padStart(4, '0') as SortKey;

/** A source of one block, whose reader says what it is asked for. */
async function source(first: number, last: number, asked: string[]): Promise<MergeSource> {
  const name = `${first}`;
  const block = { first: keyOf(first), last: keyOf(last) } as Block;
  const reader = {
    prefetch: () => void asked.push(name),
    packedBlocks: async () => ({ blocks: [block], bytes: Buffer.alloc(0) }),
    release: () => void asked.push(`released ${name}`),
  } as unknown as BlockReader;
  const range = { from: null, to: null };
  const options = { age: 1, blocks: [block], reader, keyColumns: 1, delimiter: ',', range, adapt: null };
  const made = new MergeSource(options);
  await made.start();
  return made;
}

describe('Reading ahead in a merge', () => {
  it('requests the first blocks of the next few chunks, and releases exhausted ones', async () => {
    const asked: string[] = [];
    // In the order of being fetched, which is not that of the keys.
    const starts = [30, 0, 50, 10, 40, 20];
    const heap = new SourceHeap(await Promise.all(starts.map((at) => source(at, at + 9, asked))));
    const steps: string[][] = [asked.splice(0)];
    for (let top = heap.top; top !== undefined; top = heap.top) {
      await top.takeBlocks(() => true);
      heap.updateTop();
      steps.push(asked.splice(0));
    }
    expect(READ_AHEAD).toBe(3);
    expect(steps).toEqual([
      ['0', '10', '20', '30'],
      ['released 0', '40'],
      ['released 10', '50'],
      ['released 20'],
      ['released 30'],
      ['released 40'],
      ['released 50'],
    ]);
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
