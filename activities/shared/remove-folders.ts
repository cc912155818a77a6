import type { ObjectKey, RunId } from '../../src/core/brands.js';
import { indexedObjects, inFolder, MANIFEST, nameOf } from '../../src/lake/documents/lake-layout.js';
import { type PublishedPart, readManifest } from '../../src/lake/documents/manifest.js';
import { isOfLaterPurge } from '../../src/lake/published/purge-rules.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../src/lake/store/index.js';

const REMOVED_AT_ONCE = 1000;

/**
 * Removes every object below a prefix, page by page of the listing. A replaced attempt stops before its next request.
 *
 * @returns the objects that the store refused to remove
 */
export async function removeAll(store: ObjectStore, prefix: string, signal: AbortSignal): Promise<Removal> {
  let keys: ObjectKey[] = [];
  let refused = ALL_REMOVED;
  const remove = async (): Promise<void> => {
    signal.throwIfAborted();
    refused = addRemovals(refused, await store.remove(keys));
    keys = [];
  };
  for await (const { key } of store.list(prefix)) {
    keys.push(key);
    if (keys.length >= REMOVED_AT_ONCE) await remove();
  }
  if (keys.length > 0) await remove();
  return refused;
}

/**
 * Removes a run's folder, manifest first, so that a half-removed folder never looks complete. If the store refuses to remove the
 * manifest, the folder stays as it is.
 *
 * @returns the objects that the store refused to remove, or that stay because of it
 */
export async function removeFolder(
  store: ObjectStore,
  folder: ObjectKey,
  signal: AbortSignal,
): Promise<Removal> {
  signal.throwIfAborted();
  const first = await store.remove([inFolder(folder, MANIFEST)]);
  if (first.refused === 0) return removeAll(store, `${folder}/`, signal);
  let refused = 0;
  for await (const _ of store.list(`${folder}/`)) refused++;
  // The manifest may not be there.
  return refused === 0 ? ALL_REMOVED : { ...first, refused };
}

/**
 * Lists stray parts and their indexes: objects in a run's folder that its manifest does not name. Replaced attempts
 * leave them. Parts of a purge that began after `by` are skipped, because that purge may be about to name them.
 *
 * @param parts the parts that the manifest named when it was last read; it is read again if anything else is found
 */
async function listStrayParts(
  store: ObjectStore,
  { folder, parts, by }: { readonly folder: ObjectKey; readonly parts: Parts | null; readonly by: RunId },
): Promise<ObjectKey[]> {
  const found: ObjectKey[] = [];
  for await (const { key } of store.list(`${folder}/`))
    if (/^_?part-/.test(nameOf(key)) && !isOfLaterPurge(nameOf(key), by)) found.push(key);
  const strays = parts === null ? found : unnamed(found, parts);
  if (strays.length === 0) return [];
  // Read after the listing: the manifest may have been replaced and may name a listed part now.
  const manifest = await readManifest(store, inFolder(folder, MANIFEST));
  return manifest === null ? [] : unnamed(strays, manifest.parts);
}

/**
 * Removes what `listStrayParts` finds. No manifest names them later, because each attempt uses its own part names.
 *
 * @returns the objects that the store refused to remove
 */
export async function removeStrayParts(
  store: ObjectStore,
  at: { readonly folder: ObjectKey; readonly parts: Parts | null; readonly by: RunId },
  signal: AbortSignal,
): Promise<Removal> {
  const strays = await listStrayParts(store, at);
  signal.throwIfAborted();
  return store.remove(strays);
}

type Parts = readonly Pick<PublishedPart, 'key'>[];

function unnamed(keys: readonly ObjectKey[], parts: Parts): ObjectKey[] {
  const named = new Set<string>(parts.flatMap((part) => indexedObjects(part.key)));
  return keys.filter((key) => !named.has(key));
}
