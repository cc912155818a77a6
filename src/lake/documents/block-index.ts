import type { ObjectKey } from '../../core/brands.js';
import { parseStored } from '../../core/stored-json.js';
import type { SortKey } from '../rows/row.js';
import { checkBlock } from '../size-limits.js';

/** Rows that are compressed together. `offset` and `bytes` refer to the object. */
export interface Block {
  readonly first: SortKey;
  readonly last: SortKey;
  readonly rows: number;
  readonly offset: number;
  readonly bytes: number;
  readonly rawBytes: number;
  /** CRC-32 of the uncompressed rows. */
  readonly rawCrc32: number;
  /** CRC-32 of the block's bytes in the object. */
  readonly crc32: number;
  /** Line breaks inside cells. */
  readonly lineBreaks: number;
}

/** The block index of a part, stored next to it. It maps key ranges to byte ranges. */
export interface PartIndex {
  /** Number of data columns in the part's header. Columns that were added later are not counted. */
  readonly columns: number;
  readonly blocks: readonly Block[];
}

/** Key of a part's index: `…/_part-00003-1a2b3c4d.index.json` for `…/part-00003-1a2b3c4d.csv.gz`. */
export function indexKey(part: ObjectKey): ObjectKey {
  const slash = part.lastIndexOf('/') + 1;
  const name = part.slice(slash).replace(/\.csv(\.gz)?$/, '');
  return `${part.slice(0, slash)}_${name}.index.json` as ObjectKey;
}

type BlockTuple = [string, string, number, number, number, number, number, number, number];

/** Encodes each block as a JSON array to save space: a part of 64 MiB has a thousand blocks. */
export function encodeIndex(index: PartIndex): Buffer {
  const blocks = index.blocks.map(
    (b): BlockTuple => [
      ...([b.first, b.last, b.rows, b.offset, b.bytes, b.rawBytes] as const),
      ...([b.rawCrc32, b.crc32, b.lineBreaks] as const),
    ],
  );
  return Buffer.from(JSON.stringify({ columns: index.columns, blocks }));
}

/**
 * @param part the part that it belongs to
 * @throws SyntaxError if the object is not a block index; DocumentTooLargeError if a block of the part is above its limit
 */
export function decodeIndex(body: Buffer, part: ObjectKey): PartIndex {
  const { columns, blocks } = parseStored(body) as { columns: number; blocks: BlockTuple[] };
  if (!Array.isArray(blocks) || !blocks.every(Array.isArray))
    throw new SyntaxError('it has no list of blocks');
  // Before anything is read or decompressed.
  for (const [, , , , bytes, rawBytes] of blocks) checkBlock('read', part, Math.max(bytes, rawBytes));
  return {
    columns,
    blocks: blocks.map(([first, last, rows, offset, bytes, rawBytes, rawCrc32, crc32, lineBreaks]) => ({
      first: first as SortKey,
      last: last as SortKey,
      rows,
      offset,
      bytes,
      rawBytes,
      rawCrc32,
      crc32,
      lineBreaks,
    })),
  };
}
