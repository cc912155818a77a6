import type { ObjectKey } from '../../core/brands.js';
import type { SortKey } from '../row.js';

/** Rows that were packed together. Offsets and lengths are bytes of the object. */
export interface Block {
  readonly first: SortKey;
  readonly last: SortKey;
  readonly rows: number;
  readonly offset: number;
  readonly bytes: number;
  readonly rawBytes: number;
  /** CRC-32 of the rows' text. */
  readonly rawCrc32: number;
}

/** The block index of a part, kept beside it: which bytes hold which keys. */
export interface PartIndex {
  /** Data columns of the part's header: fewer than today's where columns were added since. */
  readonly columns: number;
  readonly blocks: readonly Block[];
}

/** `…/part-00003-1a2b3c4d.csv.gz` has its index at `…/_part-00003-1a2b3c4d.index.json`. */
export function indexKey(part: ObjectKey): ObjectKey {
  const slash = part.lastIndexOf('/') + 1;
  const name = part.slice(slash).replace(/\.csv(\.gz)?$/, '');
  return `${part.slice(0, slash)}_${name}.index.json` as ObjectKey;
}

type BlockTuple = [string, string, number, number, number, number, number];

/** JSON with an array a block: a part of 64 MiB has a thousand of them. */
export function encodeIndex(index: PartIndex): Buffer {
  const blocks = index.blocks.map(
    (b): BlockTuple => [b.first, b.last, b.rows, b.offset, b.bytes, b.rawBytes, b.rawCrc32],
  );
  return Buffer.from(JSON.stringify({ columns: index.columns, blocks }));
}

export function decodeIndex(body: Buffer): PartIndex {
  const { columns, blocks } = JSON.parse(body.toString('utf8')) as { columns: number; blocks: BlockTuple[] };
  return {
    columns,
    blocks: blocks.map(([first, last, rows, offset, bytes, rawBytes, rawCrc32]) => ({
      first: first as SortKey,
      last: last as SortKey,
      rows,
      offset,
      bytes,
      rawBytes,
      rawCrc32,
    })),
  };
}
