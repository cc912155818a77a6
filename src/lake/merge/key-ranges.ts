import type { Block } from '../documents/block-index.js';
import type { StagedChunk } from '../documents/stage-file.js';
import type { SortKey } from '../rows/row.js';

/** Comparator for sort keys. */
export function byKey(a: SortKey, b: SortKey): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Number of keys in the sorted list that are less than `key`. */
export function lowerBound(sorted: readonly SortKey[], key: SortKey): number {
  return countFirst(sorted, (one) => one < key);
}

/** Number of keys in the sorted list that are at most `key`. For the bounds between ranges, this is the key's range. */
export function upperBound(sorted: readonly SortKey[], key: SortKey): number {
  return countFirst(sorted, (one) => one <= key);
}

function countFirst(sorted: readonly SortKey[], isFirst: (key: SortKey) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isFirst(sorted[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The largest number of chunks whose key ranges share a key: 1 if no two ranges overlap. */
export function maxOverlap(chunks: readonly Pick<StagedChunk, 'first' | 'last'>[]): number {
  const firsts = chunks.map(({ first }) => first).sort(byKey);
  const lasts = chunks.map(({ last }) => last).sort(byKey);
  let deepest = 0;
  let ended = 0;
  for (const [begun, first] of firsts.entries()) {
    while (lasts[ended]! < first) ended++;
    deepest = Math.max(deepest, begun + 1 - ended);
  }
  return deepest;
}

/** Whether rows from key `first` to key `last` may have keys in the range. */
export function overlaps({ first, last }: Pick<Block, 'first' | 'last'>, { from, to }: KeyRange): boolean {
  return (from === null || last >= from) && (to === null || first < to);
}

/** The blocks that may have keys in the range. */
export function blocksIn(blocks: readonly Block[], range: KeyRange): Block[] {
  return blocks.filter((block) => overlaps(block, range));
}

export function inRange(key: SortKey, { from, to }: KeyRange): boolean {
  return (from === null || key >= from) && (to === null || key < to);
}

/** Keys that are at least `from` and less than `to`; `null` for no bound. */
export interface KeyRange {
  readonly from: SortKey | null;
  readonly to: SortKey | null;
}
