import { allDone } from '../../src/core/in-parallel.js';
import { damagedObject } from '../../src/lake/damaged-error.js';
import { indexKey } from '../../src/lake/documents/block-index.js';
import { sha256Of } from '../../src/lake/documents/checksums.js';
import type { PublishedPart } from '../../src/lake/documents/manifest.js';
import { readIndexBody } from '../../src/lake/part/read-index.js';
import type { HeldStore } from '../../src/lake/store/index.js';

/** A larger part is copied within the store, in bytes as stored. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads the part of a small base snapshot and its block index once. Copies and merges of the part then need no further reads.
 *
 * @throws DamagedError if the part does not match its manifest
 */
export async function holdBasePart(store: HeldStore, part: PublishedPart): Promise<void> {
  if (part.bytes > MAX_BYTES || part.rows === 0) return;
  const [body, index] = await allDone([store.read(part.key), readIndexBody(store, part)]);
  if (sha256Of(body) !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 does not match its manifest');
  store.hold(part.key, body);
  if (index.state === 'whole') store.hold(indexKey(part.key), index.body);
}
