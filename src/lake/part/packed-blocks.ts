import type { Block } from './index-file.js';

/** One or more consecutive blocks of a part, with their bytes as stored in the object. */
export interface PackedBlocks {
  readonly blocks: readonly Block[];
  readonly bytes: Buffer;
}

/** The blocks `from` up to, but not including, `to`. */
export function sliceBlocks({ blocks, bytes }: PackedBlocks, from: number, to: number): PackedBlocks {
  if (from === 0 && to === blocks.length) return { blocks, bytes };
  const origin = blocks[0]!.offset;
  const last = blocks[to - 1]!;
  return {
    blocks: blocks.slice(from, to),
    bytes: bytes.subarray(blocks[from]!.offset - origin, last.offset + last.bytes - origin),
  };
}
