import { damagedObject } from '../damaged-error.js';
import { decodeIndex, indexKey, type PartIndex } from '../documents/block-index.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { StagedChunk } from '../documents/stage-file.js';
import { crc32, crc32ToHex } from '../store/crc32.js';
import { type ObjectStore, StoreError } from '../store/index.js';
import { DocumentTooLargeError } from '../too-large-error.js';

/** Number of attempts. A second read fixes damage in transit. */
const READS = 2;

/** Reads the object of a part's block index and compares it with the CRC-32 in the manifest. */
export async function readIndexBody(
  store: ObjectStore,
  { key, indexCrc32 }: Pick<PublishedPart, 'key' | 'indexCrc32'>,
  signal?: AbortSignal,
): Promise<Buffer | 'missing' | 'damaged'> {
  for (let reads = 1; ; reads++) {
    try {
      const body = await store.read(indexKey(key), { signal });
      if (crc32ToHex(crc32(body)) === indexCrc32) return body;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.kind === 'not-found') return 'missing';
      if (error.kind !== 'damaged') throw error;
    }
    if (reads === READS) return 'damaged';
  }
}

/**
 * Reads the block index of a published part.
 *
 * @returns `null` if it is missing or damaged. The rows of the part can then be read without it (`readPartRows`), or copied
 *   (`copyIntactPart`)
 */
export async function readPartIndex(
  store: ObjectStore,
  part: PublishedPart,
  signal?: AbortSignal,
): Promise<PartIndex | null> {
  const found = await readIndexBody(store, part, signal);
  return typeof found === 'string' ? null : decodeIndex(found, part.key);
}

/** Reads the block index of a staged chunk. @throws DamagedError if it is missing or damaged; the next run fetches the rows again */
export async function readChunkIndex(
  store: ObjectStore,
  chunk: Pick<StagedChunk, 'key' | 'indexCrc32'>,
  signal?: AbortSignal,
): Promise<PartIndex> {
  const found = await readIndexBody(store, chunk, signal);
  const key = indexKey(chunk.key);
  if (found === 'missing') throw damagedObject(key, 'it is missing');
  if (found === 'damaged') throw damagedObject(key, 'its CRC32 is not the expected one');
  try {
    return decodeIndex(found, chunk.key);
  } catch (cause) {
    if (cause instanceof DocumentTooLargeError) throw cause;
    throw damagedObject(key, 'it is not a block index', cause);
  }
}
