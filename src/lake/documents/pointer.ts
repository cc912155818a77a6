import { parseStored } from '../../core/stored-json.js';
import type { ObjectStore } from '../store/index.js';
import { checksumState, withChecksum } from './checksums.js';
import type { StoredPointer } from './document-schemas.js';
import { checkLayout, LAYOUT_VERSION, pointerKey } from './lake-layout.js';

/** The fields of `latest.json` (docs/reference/lake.md). */
export interface Pointer extends Omit<StoredPointer, 'layout' | 'checksum'> {}

/** A pointer, and the version of the object in the store. */
export interface FoundPointer {
  readonly pointer: Pointer;
  readonly etag: string;
}

/**
 * Reads the pointer of a resource.
 *
 * @returns `null` if nothing is published
 * @throws SyntaxError if the object is not a pointer or does not match its checksum; LakeLayoutError if its layout is of
 *   another version
 */
export async function readPointerVersion(
  store: ObjectStore,
  resource: string,
  signal?: AbortSignal,
): Promise<FoundPointer | null> {
  const key = pointerKey(resource);
  const found = await store.readIfExists(key, { signal });
  if (found === null) return null;
  return {
    pointer: { ...decodePointer(found.body, `${store.url}/${key}`), resource },
    etag: found.etag,
  };
}

/**
 * Checks the layout of a resource before a command writes to it or reads its runs without the pointer.
 *
 * @throws LakeLayoutError; StoreError. Other problems of the pointer are for the caller to find
 */
export async function checkLayoutOf(store: ObjectStore, resource: string): Promise<void> {
  try {
    await readPointer(store, resource);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
}

/** As `readPointerVersion`, without the version. */
export async function readPointer(
  store: ObjectStore,
  resource: string,
  signal?: AbortSignal,
): Promise<Pointer | null> {
  return (await readPointerVersion(store, resource, signal))?.pointer ?? null;
}

/** Encodes a pointer with the version of the layout and its checksum. */
export function encodePointer(pointer: Pointer): Buffer {
  return Buffer.from(`${JSON.stringify(withChecksum({ layout: LAYOUT_VERSION, ...pointer }), null, 2)}\n`);
}

/**
 * @param at the object, for errors
 * @throws SyntaxError if the object is not a pointer or does not match its checksum; LakeLayoutError
 */
export function decodePointer(body: Buffer, at = 'latest.json'): Pointer {
  const found = parseStored(body) as (Partial<Pointer> & { readonly layout?: unknown }) | null;
  const isPointer =
    typeof found?.runId === 'string' &&
    typeof found.snapshot === 'string' &&
    typeof found.checkpoint?.updatedSince === 'string';
  if (!isPointer) throw new SyntaxError('latest.json is not a pointer of this connector');
  if (checksumState(found) === 'broken') throw damagedPointer('its fields do not match its checksum');
  checkLayout(at, found.layout);
  if (checksumState(found) === 'none') throw damagedPointer('it has no checksum');
  const { checksum: _, layout: __, ...pointer } = found as StoredPointer;
  return pointer;
}

function damagedPointer(problem: string): SyntaxError {
  return new SyntaxError(
    `latest.json is damaged: ${problem}. Restore it from a backup or an earlier version of the object`,
  );
}
