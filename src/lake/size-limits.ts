import type { ObjectKey } from '../core/brands.js';
import { DocumentTooLargeError } from './too-large-error.js';

/**
 * The largest objects that the stores read or write as a whole (docs/reference/limits.md#objects-of-the-lake). Both stores apply
 * them to `read`, `readIfExists`, `write` and `swap`, by the key, so no caller can forget them. Streams have no limit: they hold
 * a few chunks.
 *
 * Each limit is at least 10 times the largest object of a lake with 20,000,000 rows and 5,000 columns. Such a lake has 6 GB of CSV
 * (docs/internals/benchmarks.md): 90 parts of 64 MiB, or 360 of 16 MiB with a table. A column takes 115 bytes of a schema with its
 * indentation, and 140 bytes where its facts are listed.
 *
 * | kind | largest | computed as |
 * |---|---|---|
 * | pointer | 20 KB | 2 KB, and 27 bytes for each run that rollbacks keep |
 * | manifest | 51 MiB | 90 parts × (5,000 columns × 115 B + 1 KB) + 5,000 × 140 B |
 * | block index | 0.3 MB | 1,024 blocks of 64 KiB × (60 B + two keys of 100 B) |
 * | journal | 51 MB | the keys of 2,000,000 records, 10% of all, × 11 B × 2 lists; 5 lists of columns × 0.7 MB + 4 × 360 parts × 0.5 KB + 1,500 chunks × 0.4 KB × 2 |
 * | other staged document | 4 MB | columns: 0.7 MB; results with the facts of 90 parts |
 * | commit | 1 MB | 5,000 columns × 100 B + 360 files added and removed × 0.6 KB |
 * | checkpoint | 5 MB | 5,000 columns × 100 B + 360 files × 31 days × 0.4 KB |
 * | chunk or log of write-back | 10 MB | 2 MiB and one row of at most 8 MiB; larger only where the row needs escapes |
 * | document of a batch | 0.5 MB | 5,000 types × 40 B; 20,000 chunks × 12 B |
 * | hashes, claims | 80 MB | 8 B × 10,000,000 values of one task; 36 B × 2,000,000 rows of a batch |
 * | block | 0.6 MB | 64 KiB, and one row of 5,000 cells × 100 B |
 */
const MiB = 1024 ** 2;

export const MAX_POINTER_BYTES = 1 * MiB;
/** Just less than the longest text of V8, 2^29 - 24 characters: a longer one cannot be parsed. */
export const MAX_MANIFEST_BYTES = 511 * MiB;
export const MAX_INDEX_BYTES = 64 * MiB;
/** As of a manifest, for the same reason. */
const MAX_STAGED_BYTES = 511 * MiB;
const MAX_COMMIT_BYTES = 64 * MiB;
const MAX_CHECKPOINT_BYTES = 256 * MiB;
const MAX_CHUNK_BYTES = 128 * MiB;
const MAX_HASHES_BYTES = 1024 * MiB;
/** A row has at most 256 MiB, and a block ends with the row that fills it. */
export const MAX_BLOCK_BYTES = 257 * MiB;
const MAX_OTHER_BYTES = 16 * MiB;

interface SizeLimit {
  readonly what: string;
  readonly maxBytes: number;
}

/** The kinds by their keys. The first match counts. */
const KINDS: readonly (readonly [pattern: RegExp, what: string, maxBytes: number])[] = [
  [/\/latest\.json$/, 'latest.json', MAX_POINTER_BYTES],
  [/\/_datapackage\.json$/, 'a manifest', MAX_MANIFEST_BYTES],
  [/\.index\.json$/, 'a block index', MAX_INDEX_BYTES],
  [/^_staging\/.*\.json$/, 'a staged document', MAX_STAGED_BYTES],
  [/\/_delta_log\/\d+\.json$/, 'a commit of a table', MAX_COMMIT_BYTES],
  [/^(?=.*\/_delta_log\/).*\.parquet$/s, 'a checkpoint of a table', MAX_CHECKPOINT_BYTES],
  [/^(?=.*\/_batch\/plans\/).*\/turns\/[^/]*\.json$/s, 'a turn of a batch', MAX_STAGED_BYTES],
  [/^(?=.*\/_batch\/plans\/).*\/log\/[^/]*\.json$/s, 'the log of a chunk', MAX_CHUNK_BYTES],
  [/^(?=.*\/_batch\/).*\.ndjson$/s, 'a chunk of a batch', MAX_CHUNK_BYTES],
  [/\.bin$|\/_ledger\/[^/]*\/\d+\.(?:claim|rows-\d+)$/, 'a list of hashes', MAX_HASHES_BYTES],
  // Parts, receipts and data files are streamed, or read block by block.
  [/\.csv$|\.gz$|\.parquet$/, 'a block of rows', MAX_BLOCK_BYTES],
];

/** The limit of the objects that are read or written as a whole. For parts and data files, that of one request. */
export function sizeLimitOf(key: ObjectKey): SizeLimit {
  const [, what, maxBytes] = KINDS.find(([pattern]) => pattern.test(key)) ?? [];
  return { what: what ?? 'this object', maxBytes: maxBytes ?? MAX_OTHER_BYTES };
}

/** @throws DocumentTooLargeError if an object that is about to be written has more bytes than its kind may have */
export function checkWritten(key: ObjectKey, body: Uint8Array | readonly Uint8Array[]): void {
  const bytes = body instanceof Uint8Array ? body.length : body.reduce((sum, { length }) => sum + length, 0);
  const limit = sizeLimitOf(key);
  if (bytes > limit.maxBytes) throw new DocumentTooLargeError('write', { key, ...limit, bytes });
}

/**
 * Checks a block before it is decompressed or written.
 *
 * @param part the object that has it
 * @throws DocumentTooLargeError
 */
export function checkBlock(access: 'read' | 'write', part: ObjectKey, bytes: number): void {
  // A damaged index can have anything in place of a number.
  if (!(bytes > MAX_BLOCK_BYTES)) return;
  throw new DocumentTooLargeError(access, {
    ...{ key: part, what: 'a block of rows', maxBytes: MAX_BLOCK_BYTES, bytes },
  });
}

/**
 * Encodes a document whose text may become longer than V8 can hold.
 *
 * @throws DocumentTooLargeError
 */
export function encodeWithin(key: ObjectKey, encode: () => Buffer): Buffer {
  try {
    return encode();
  } catch (error) {
    const isTooLong = error instanceof RangeError && /string length/i.test(error.message);
    if (!isTooLong) throw error;
    throw new DocumentTooLargeError('write', { key, ...sizeLimitOf(key), bytes: null });
  }
}
