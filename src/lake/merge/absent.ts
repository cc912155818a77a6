import type { ByteString } from '../../core/brands.js';
import { isTombstone, type SortKey } from '../row.js';
import { SourceHeap } from './heap.js';
import type { MergeSource } from './source.js';

/**
 * Live rows of the snapshot (age 0) whose keys no other source has.
 *
 * @param counts whether a row may be concluded from at all, such as by its place in a window
 * @param found called in the order of the keys
 */
export async function findAbsent(
  sources: readonly MergeSource[],
  counts: (row: ByteString) => boolean,
  found: (key: SortKey) => void,
): Promise<void> {
  for (const source of sources) await source.start();
  const heap = new SourceHeap(sources);
  const snapshot = sources.find((source) => source.age === 0);
  for (let top = heap.top; top !== undefined && snapshot?.key !== null; top = heap.top) {
    const key = top.key!;
    let row: ByteString | null = null;
    let present = false;
    for (; top !== undefined && top.key === key; top = heap.top) {
      await top.open();
      if (top.age === 0) row = top.row();
      else present = true;
      if (!top.step()) await top.nextBlock();
      heap.settle();
    }
    if (row !== null && !present && !isTombstone(row) && counts(row)) found(key);
  }
}
