import type { StagedChunk } from '../run/stage.js';
import { maxOverlap } from './keys.js';

/** The most sorted runs that overlap before some of them are merged into a longer one. It bounds the open objects of a merge. */
export const MAX_OVERLAP = 64;

/** Consecutive chunks of one chain of pages. */
export interface ChunkGroup {
  readonly chunks: readonly StagedChunk[];
  /** Whether the chunks overlap, so that a merge makes one longer run of them. */
  readonly overlaps: boolean;
}

/**
 * Groups the newest chunks by chain. A repeated key within one chain shows that the list shifted, so chunks of different
 * chains are never merged before the run's own merge.
 */
export function groupByChain(chunks: readonly StagedChunk[]): ChunkGroup[] {
  const groups: StagedChunk[][] = [];
  for (const chunk of chunks) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]!.chain === chunk.chain) last.push(chunk);
    else groups.push([chunk]);
  }
  return groups.map((group) => ({ chunks: group, overlaps: maxOverlap(group) > 1 }));
}

/** Whether a merge would have to open too many of these chunks side by side. */
export function overlapTooMuch(chunks: readonly StagedChunk[]): boolean {
  return chunks.length >= MAX_OVERLAP && maxOverlap(chunks) >= MAX_OVERLAP;
}
