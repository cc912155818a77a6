import type { ByteString } from '../../core/brands.js';
import { isTombstone, type SortKey } from '../rows/row.js';
import { SourceHeap } from './heap.js';
import type { MergeSource } from './source.js';

/** Decides whether a row's absence can mean a delete. */
export interface AbsenceRule {
  /** Checks the date of a row, listed or not: a single value that is no date makes every other one doubtful. */
  readonly note: ((row: ByteString) => void) | null;
  /** Whether the absence of this row can mean a delete. */
  isEligible(row: ByteString): boolean;
}

/**
 * Finds live rows of the base snapshot (age 0) whose keys appear in no other source.
 *
 * @param rule sees every row except those marked as deleted
 * @param onAbsent called for each such row, in key order
 */
export async function findAbsent(
  sources: readonly MergeSource[],
  { note, isEligible }: AbsenceRule,
  onAbsent: (key: SortKey) => void,
): Promise<void> {
  const heap = await SourceHeap.start(sources);
  const snapshot = sources.find((source) => source.age === 0);
  // Rows after the last one of the snapshot only have to be noted.
  const isAtEnd = (): boolean => note === null && snapshot?.key === null;
  for (let top = heap.top; top !== undefined && !isAtEnd(); top = heap.top) {
    const key = top.key!;
    let row: ByteString | null = null;
    let present = false;
    for (; top !== undefined && top.key === key; top = heap.top) {
      await top.open();
      if (top.age === 0) row = top.row();
      else present = true;
      if (note !== null) {
        const one = top.row();
        if (!isTombstone(one)) note(one);
      }
      if (!top.step()) await top.nextBlock();
      heap.updateTop();
    }
    if (row !== null && !present && !isTombstone(row) && isEligible(row)) onAbsent(key);
  }
}
