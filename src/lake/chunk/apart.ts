import type { SortKey } from '../rows/row.js';
import type { StagedChunk } from '../run/stage.js';

type Range = Pick<StagedChunk, 'first' | 'last'>;

/**
 * Whether the key range of some rows overlaps no earlier chunk, as in a list in descending or ascending order of the key. One
 * foreign row between the rows of a block keeps a merge from copying the block, so a small overlap counts.
 *
 * @param keys of the rows, in any order; at least one
 */
export function isApart(keys: readonly SortKey[], chunks: readonly Range[]): boolean {
  // In most other orders, the first key already shows it.
  let first = keys[0]!;
  let last = first;
  if (overlapsAny({ first, last }, chunks)) return false;
  for (const key of keys) {
    if (key < first) first = key;
    else if (key > last) last = key;
  }
  return !overlapsAny({ first, last }, chunks);
}

function overlapsAny(range: Range, chunks: readonly Range[]): boolean {
  return chunks.some(({ first, last }) => first <= range.last && range.first <= last);
}
