import type { StagedChunk } from '../documents/stage-file.js';
import { maxOverlap } from './key-ranges.js';

/** The most sorted chunks that one merge interleaves. It bounds the memory and the open objects of a merge. */
export const MAX_OVERLAP = 64;

/** The positions of the chunks that are merged into one larger chunk: `from` up to, but not including, `to`. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** Consecutive chunks in key order. */
interface Run {
  readonly from: number;
  to: number;
  bytes: number;
}

/**
 * The chunks of one reading of the list that should be merged next, so that a merge of all chunks interleaves fewer than
 * `MAX_OVERLAP` runs; `null` if that is so. It takes as few runs as that needs, and those with the fewest bytes, so a run
 * that has been merged is merged again only if all others have been merged, too.
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
  const wanted = Math.min(MAX_OVERLAP, overlap - MAX_OVERLAP + 2);
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
  for (const [at, chunk] of chunks.entries()) {
    const before = chunks[at - 1];
    if (before === undefined || before.chain !== chunk.chain) chains.push([]);
    const runs = chains.at(-1)!;
    const last = runs.at(-1);
    if (last !== undefined && before!.last < chunk.first) {
      last.to = at + 1;
      last.bytes += chunk.rawBytes;
    } else runs.push({ from: at, to: at + 1, bytes: chunk.rawBytes });
  }
  return chains;
}
