import type { Block } from './index-file.js';

/** Neighbouring blocks of a part, one at least, with their bytes as they lie in the object, one behind the other. */
export interface PackedBlocks {
  readonly blocks: readonly Block[];
  readonly bytes: Buffer;
}

/** Those from number `from` on and before `to`. */
export function sliceBlocks({ blocks, bytes }: PackedBlocks, from: number, to: number): PackedBlocks {
  if (from === 0 && to === blocks.length) return { blocks, bytes };
  const origin = blocks[0]!.offset;
  const last = blocks[to - 1]!;
  return {
    blocks: blocks.slice(from, to),
    bytes: bytes.subarray(blocks[from]!.offset - origin, last.offset + last.bytes - origin),
  };
}
