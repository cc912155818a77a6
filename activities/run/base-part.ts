import { encodeIndex, indexKey } from '../../src/lake/part/index-file.js';
import { rebuildIndex } from '../../src/lake/part/rebuild-index.js';
import type { PublishedPart } from '../../src/lake/published/manifest.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import { crc32, crc32ToHex } from '../../src/lake/store/crc32.js';
import type { HeldStore } from '../../src/lake/store/index.js';

/** A larger part is copied within the store, and its index is read, in bytes as stored. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads the part of a small base snapshot once, and checks it against its SHA-256. Its block index is made from it, which
 * takes less time than a request. Copies and merges of the part then need no further reads.
 *
 * @throws DamagedError if the part does not match its manifest
 */
export async function holdBasePart(store: HeldStore, run: RunFile, part: PublishedPart): Promise<void> {
  if (part.bytes > MAX_BYTES || part.rows === 0 || part.indexCrc32 === undefined) return;
  const { csv, key } = run.before!.profile;
  store.hold(part.key, await store.read(part.key));
  const index = encodeIndex(await rebuildIndex(store, part, { csv, keyColumns: key.length }));
  // Parts without compression can have other blocks. Their index is read.
  if (crc32ToHex(crc32(index)) === part.indexCrc32) store.hold(indexKey(part.key), index);
}
