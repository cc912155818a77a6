import type { ObjectKey } from '../../core/brands.js';
import { damagedObject } from '../damaged-error.js';
import { decodeIndex, indexKey, type PartIndex } from '../documents/block-index.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { StagedChunk } from '../documents/stage-file.js';
import { crc32, crc32ToHex } from '../store/crc32.js';
import { type ObjectStore, StoreError } from '../store/index.js';

/** Number of attempts. A second read fixes damage in transit. */
const READS = 2;

type ReadIndexBody =
  | { readonly state: 'whole'; readonly body: Buffer }
  | { readonly state: 'missing' | 'damaged' };

/** Reads the object of a part's block index and compares it with the CRC-32 in the manifest. */
export async function readIndexBody(
  store: ObjectStore,
  { key, indexCrc32 }: Pick<PublishedPart, 'key' | 'indexCrc32'>,
  signal?: AbortSignal,
): Promise<ReadIndexBody> {
  for (let reads = 1; ; reads++) {
    try {
      const body = await store.read(indexKey(key), { signal });
      if (crc32ToHex(crc32(body)) === indexCrc32) return { state: 'whole', body };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.kind === 'not-found') return { state: 'missing' };
      if (error.kind !== 'damaged') throw error;
    }
    if (reads === READS) return { state: 'damaged' };
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
  return found.state === 'whole' ? decodeIndex(found.body) : null;
}

/** Reads the block index of a staged chunk. @throws DamagedError if it is missing or damaged; the next run fetches the rows again */
export async function readChunkIndex(
  store: ObjectStore,
  chunk: Pick<StagedChunk, 'key' | 'indexCrc32'>,
  signal?: AbortSignal,
): Promise<PartIndex> {
  const found = await readIndexBody(store, chunk, signal);
  const key: ObjectKey = indexKey(chunk.key);
  if ('body' in found) {
    try {
      return decodeIndex(found.body);
    } catch (cause) {
      throw damagedObject(key, 'it is not a block index', cause);
    }
  }
  throw damagedObject(key, found.state === 'missing' ? 'it is missing' : 'its CRC32 is not the expected one');
}
