import { createGunzip, type Gunzip } from 'node:zlib';
import type { ByteString, ObjectKey } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { DamagedError } from '../damaged-error.js';
import type { PublishedPart } from '../documents/manifest.js';
import { MAX_ROW_BYTES, RowSplitter } from '../rows/csv.js';
import type { ObjectStore } from '../store/index.js';
import { DocumentTooLargeError } from '../too-large-error.js';

interface RowsOptions {
  readonly compression: 'gzip' | 'none';
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the rows of a part in order, without the header and without the block index, which change logs do not have.
 * Memory is bounded by one row and a few buffers.
 *
 * @throws DamagedError if the object does not match its manifest
 */
export async function* readPartRows(
  store: ObjectStore,
  part: Pick<PublishedPart, 'key' | 'rows'>,
  { compression, signal }: RowsOptions,
): AsyncGenerator<ByteString[]> {
  const unpacker = compression === 'gzip' ? gunzipper() : plainUnpacker;
  const splitter = new RowSplitter();
  let [rows, sawHeader] = [0, false];
  const taken = (piece: Buffer): ByteString[] => {
    const found = rowsIn(part.key, splitter, piece);
    if (!sawHeader) sawHeader = found.shift() !== undefined;
    rows += found.length;
    return found;
  };
  try {
    for await (const chunk of store.stream(part.key, { signal })) {
      for await (const piece of readable(part.key, unpacker.push(chunk))) yield taken(piece);
    }
    for await (const piece of readable(part.key, unpacker.end())) yield taken(piece);
  } finally {
    unpacker.close();
  }
  if (splitter.rest() !== '') throw new DamagedError(`${part.key} ends within a row`);
  if (rows !== part.rows)
    throw new DamagedError(`${part.key} does not contain the ${part.rows} rows that its manifest lists`);
}

/** @throws DocumentTooLargeError if a row is longer than allowed */
function rowsIn(key: ObjectKey, splitter: RowSplitter, piece: Buffer): ByteString[] {
  try {
    return [...splitter.push(piece.toString('latin1'))];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new DocumentTooLargeError('read', { key, what: 'a row', maxBytes: MAX_ROW_BYTES, bytes: null });
  }
}

async function* readable(key: string, pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* pieces;
  } catch (cause) {
    throw new DamagedError(
      `${key} is not a complete gzip file: ${errorMessage(cause)}. Check the lake with: worktrack verify`,
      { cause },
    );
  }
}

/** Bytes passed to zlib at a time. Gzip can expand a thousandfold, and the output of one slice is held in memory. */
const SLICE_BYTES = 16 * 1024;
/** Size of zlib's output buffers, about what a slice of CSV text expands to. */
const OUTPUT_BYTES = 64 * 1024;

/** Decompresses pushed chunks. It does not modify them, so the caller can also use the compressed bytes. */
export interface Unpacker {
  /** @throws Error if the bytes are not gzip data */
  push(chunk: Buffer): AsyncGenerator<Buffer>;
  /** @throws Error if the file is truncated or its checksum is wrong */
  end(): AsyncGenerator<Buffer>;
  /** Frees zlib's memory. */
  close(): void;
}

/** Passes the bytes of uncompressed objects through. */
export const plainUnpacker: Unpacker = {
  async *push(chunk) {
    yield chunk;
  },
  async *end() {},
  close() {},
};

/** Decompresses a whole gzip file as any reader does, without the block index. */
export function gunzipper(): Unpacker {
  const gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
  let out: Buffer[] = [];
  gunzip.on('data', (piece: Buffer) => out.push(piece));
  const failed = new Promise<never>((_, reject) => gunzip.once('error', reject));
  failed.catch(() => {});
  // This can happen before the last byte is pushed: zlib ignores bytes after the end of the gzip file.
  const ended = new Promise<void>((resolve) => gunzip.once('end', resolve));
  function* taken(): Generator<Buffer> {
    const pieces = out;
    out = [];
    yield* pieces;
  }
  return {
    async *push(chunk) {
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        await Promise.race([written(gunzip, chunk.subarray(at, at + SLICE_BYTES)), ended, failed]);
        yield* taken();
      }
    },
    async *end() {
      gunzip.end();
      await Promise.race([ended, failed]);
      yield* taken();
    },
    close: () => gunzip.destroy(),
  };
}

function written(gunzip: Gunzip, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    gunzip.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}
