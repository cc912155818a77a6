import type { ByteString } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { DamagedError } from '../damaged-error.js';
import type { PublishedPart } from '../published/manifest.js';
import { RowSplitter } from '../rows/csv.js';
import type { ObjectStore } from '../store/index.js';
import { gunzipper, plainUnpacker } from './gunzip.js';

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
  let rows = -1;
  const taken = (piece: Buffer): ByteString[] => {
    const found = [...splitter.push(piece.toString('latin1'))];
    if (rows === -1 && found.length > 0) found.shift();
    else if (rows === -1) return found;
    rows = Math.max(rows, 0) + found.length;
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
  if (Math.max(rows, 0) !== part.rows)
    throw new DamagedError(`${part.key} does not contain the ${part.rows} rows that its manifest lists`);
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
