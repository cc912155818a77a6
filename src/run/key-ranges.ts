import type { Block } from '../lake/documents/block-index.js';
import type { StagedChunk } from '../lake/documents/stage-file.js';
import type { SortKey } from '../lake/rows/row.js';

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

/** The most sorted chunks that one merge interleaves. It bounds the memory and the open objects of a merge. */
export const MAX_OVERLAP = 64;

/** The positions of the chunks that are merged into one larger chunk: `from` up to, but not including, `to`. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** Consecutive chunks in key order, with the chunks of replaced rows (`isTwin`) before each. */
interface Run {
  readonly from: number;
  to: number;
  bytes: number;
}

/** A merge gives up to three sorted sequences: the newest rows, replaced rows that differ, and those that are a proof. */
const MOST_SEQUENCES = 3;

/**
 * The chunks of one reading of the list that should be merged next, so that a merge of all chunks interleaves fewer than
 * `MAX_OVERLAP` runs; `null` if that is so, or no merge helps. It takes as few runs as that needs, and those with the fewest bytes, so a
 * run that has been merged is merged again only if all others have been merged, too.
 *
 * Replaced rows are merged with the chunk that replaces them, never alone: then each merge leaves fewer runs.
 *
 * Chunks of different chains are not merged: a key that one chain repeats shows that the list shifted.
 *
 * @param chunks of this reading, oldest first
 * @param others the chunks of earlier readings
 */
export function nextSlice(chunks: readonly StagedChunk[], others: readonly StagedChunk[]): Slice | null {
  if (chunks.length + others.length < MAX_OVERLAP) return null;
  const overlap = maxOverlap([...others, ...chunks]);
  if (overlap < MAX_OVERLAP) return null;
  const sequences = chunks.some(({ isTwin }) => isTwin) ? MOST_SEQUENCES : 1;
  const wanted = Math.min(Math.floor(MAX_OVERLAP / sequences), overlap - MAX_OVERLAP + 1 + sequences);
  let best: Readonly<Run> | null = null;
  for (const runs of runsByChain(chunks)) {
    const width = Math.min(wanted, runs.length);
    if (width < 2) continue;
    let bytes = 0;
    for (const [at, run] of runs.entries()) {
      bytes += run.bytes - (at < width ? 0 : runs[at - width]!.bytes);
      if (at + 1 < width || (best !== null && bytes >= best.bytes)) continue;
      best = { from: runs[at + 1 - width]!.from, to: run.to, bytes };
    }
  }
  return best === null ? null : { from: best.from, to: best.to };
}

/** Divides the chunks into chains, and those into sorted sequences. */
function runsByChain(chunks: readonly StagedChunk[]): Run[][] {
  const chains: Run[][] = [];
  let before: StagedChunk | null = null;
  let twins = { from: 0, bytes: 0 };
  for (const [at, chunk] of chunks.entries()) {
    if (chunk.chain !== chunks[at - 1]?.chain || at === 0) {
      chains.push([]);
      before = null;
      twins = { from: at, bytes: 0 };
    }
    const bytes = twins.bytes + chunk.rawBytes;
    if (chunk.isTwin) {
      // They precede the chunk that replaces them.
      twins = { ...twins, bytes };
      continue;
    }
    const runs = chains.at(-1)!;
    const last = runs.at(-1);
    if (last !== undefined && before !== null && before.last < chunk.first) {
      last.to = at + 1;
      last.bytes += bytes;
    } else runs.push({ from: twins.from, to: at + 1, bytes });
    before = chunk;
    twins = { from: at + 1, bytes: 0 };
  }
  return chains;
}
