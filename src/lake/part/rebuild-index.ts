import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import { DamagedError, damagedObject } from '../damaged-error.js';
import type { PublishedPart } from '../published/manifest.js';
import { RowSplitter, readRow } from '../rows/csv.js';
import { detached, rowKeys, type SortKey } from '../rows/row.js';
import { META_COLUMNS } from '../rows/schema.js';
import { crc32 } from '../store/crc32.js';
import type { ObjectStore } from '../store/index.js';
import { framingOf } from './framing.js';
import type { Block, PartIndex } from './index-file.js';
import { countLineBreaks } from './line-breaks.js';
import { BLOCK_BYTES } from './writer.js';

/** The CSV format of a part's rows. */
export interface PartLayout {
  readonly csv: Pick<CsvSettings, 'compression' | 'delimiter'>;
  readonly keyColumns: number;
}

/**
 * Rebuilds the block index of a part from the part itself. The part is first checked against its SHA-256 in the manifest,
 * and its rows against the counts and keys there. Reads the object twice and holds one block in memory.
 *
 * @throws DamagedError if the part does not match its manifest
 */
export async function rebuildIndex(
  store: ObjectStore,
  part: PublishedPart,
  layout: PartLayout,
  signal?: AbortSignal,
): Promise<PartIndex> {
  await checkPart(store, part, signal);
  try {
    return await indexOf(store, part, layout, signal);
  } catch (error) {
    if (error instanceof DamagedError || !(error instanceof RangeError || error instanceof SyntaxError))
      throw error;
    throw damagedObject(part.key, `its block index cannot be rebuilt from it: ${error.message}`, error);
  }
}

/** Checks size and SHA-256 of a whole part against its manifest. @throws DamagedError */
async function checkPart(store: ObjectStore, part: PublishedPart, signal?: AbortSignal): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of store.stream(part.key, { signal })) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  if (bytes !== part.bytes)
    throw damagedObject(part.key, `it has ${bytes} bytes, but its manifest says ${part.bytes}`);
  if (hash.digest('hex') !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 does not match its manifest');
}

async function indexOf(
  store: ObjectStore,
  part: PublishedPart,
  { csv, keyColumns }: PartLayout,
  signal?: AbortSignal,
): Promise<PartIndex> {
  const blocks: Block[] = [];
  let columns: number | null = null;
  let before: SortKey | null = null;
  let rows = 0;
  let rawBytes = 0;
  const pieces = csv.compression === 'gzip' ? packedPieces : plainPieces;
  for await (const { offset, packed, raw } of pieces(store, part, signal)) {
    const text = raw.toString('latin1');
    rawBytes += raw.length;
    if (columns === null) {
      columns = readRow(text, csv.delimiter).length - META_COLUMNS.length;
      continue;
    }
    const keys = rowKeys(text, keyColumns, csv.delimiter, 'all');
    for (const key of keys) {
      if (before !== null && key <= before) throw new RangeError('its keys are not in ascending order');
      before = key;
    }
    rows += keys.length;
    blocks.push({
      first: detached(keys[0]!),
      last: detached(keys.at(-1)!),
      rows: keys.length,
      offset,
      bytes: packed.length,
      rawBytes: raw.length,
      rawCrc32: crc32(raw),
      crc32: crc32(packed),
      lineBreaks: countLineBreaks(raw) - keys.length,
    });
  }
  const { first = null } = blocks[0] ?? {};
  const { last = null } = blocks.at(-1) ?? {};
  const agrees =
    columns !== null &&
    rows === part.rows &&
    rawBytes === part.rawBytes &&
    first === part.first &&
    last === part.last;
  if (!agrees) throw new RangeError('its rows do not match its manifest');
  return { columns: columns!, blocks };
}

/** The header or one block. */
interface Piece {
  readonly offset: number;
  readonly packed: Buffer;
  readonly raw: Buffer;
}

/** The end of an empty stored block (RFC 1951), the end of every compressed piece (`DeflatePool`). */
const PIECE_END = Buffer.from([0, 0, 0xff, 0xff]);
/** An empty final block (RFC 1951). It completes the stream only after a whole piece. */
const STREAM_END = Buffer.from([3, 0]);
const inflate = promisify(inflateRaw) as (packed: Buffer) => Promise<Buffer>;

/** Finds the pieces of a gzip part. They are independent, so each position where one could end is tried. */
async function* packedPieces(
  store: ObjectStore,
  part: PublishedPart,
  signal?: AbortSignal,
): AsyncGenerator<Piece> {
  const framing = framingOf({ compression: 'gzip' });
  let offset = framing.head.length;
  const length = part.bytes - framing.tail(0, 0).length - offset;
  let pending: Buffer = Buffer.alloc(0);
  let from = 0;
  for await (const chunk of store.stream(part.key, { range: { offset, length }, signal })) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (;;) {
      const at = pending.indexOf(PIECE_END, from);
      if (at === -1) break;
      const packed = pending.subarray(0, at + PIECE_END.length);
      const raw = await inflate(Buffer.concat([packed, STREAM_END])).catch(() => null);
      from = at + 1;
      if (raw === null || raw.length === 0) continue;
      yield { offset, packed, raw };
      offset += packed.length;
      pending = pending.subarray(packed.length);
      from = 0;
    }
    from = Math.max(0, pending.length - PIECE_END.length + 1);
  }
  if (pending.length === 0) return;
  // A piece can end with a second empty block.
  const rest = await inflate(Buffer.concat([pending, STREAM_END])).catch(() => null);
  if (rest?.length !== 0) throw new RangeError('it ends within a block');
}

/** Splits an uncompressed part into blocks of `BLOCK_BYTES`. Any row boundary can end a block. */
async function* plainPieces(
  store: ObjectStore,
  part: { readonly key: ObjectKey },
  signal?: AbortSignal,
): AsyncGenerator<Piece> {
  const splitter = new RowSplitter();
  let offset = 0;
  let rows: string[] = [];
  let bytes = 0;
  const take = (): Piece => {
    const raw = Buffer.from(rows.join(''), 'latin1');
    const piece = { offset, packed: raw, raw };
    offset += raw.length;
    rows = [];
    bytes = 0;
    return piece;
  };
  for await (const chunk of store.stream(part.key, { signal })) {
    for (const row of splitter.push(chunk.toString('latin1'))) {
      rows.push(row);
      bytes += row.length;
      if (offset === 0 || bytes >= BLOCK_BYTES) yield take();
    }
  }
  if (rows.length > 0) yield take();
  if (splitter.rest() !== '') throw new RangeError('it ends within a row');
}
