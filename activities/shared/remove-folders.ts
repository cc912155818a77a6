import type { ObjectKey, RunId } from '../../src/core/brands.js';
import { indexedObjects, inFolder, MANIFEST, nameOf } from '../../src/lake/published/layout.js';
import { type PublishedPart, readManifest } from '../../src/lake/published/manifest.js';
import { isOfLaterPurge } from '../../src/lake/published/purge.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

const REMOVED_AT_ONCE = 1000;

/** Removes every object below a prefix, page by page of the listing. A replaced attempt stops before its next request. */
export async function removeAll(store: ObjectStore, prefix: string, signal: AbortSignal): Promise<void> {
  let keys: ObjectKey[] = [];
  const remove = async (): Promise<void> => {
    signal.throwIfAborted();
    await store.remove(keys);
    keys = [];
  };
  for await (const { key } of store.list(prefix)) {
    keys.push(key);
    if (keys.length >= REMOVED_AT_ONCE) await remove();
  }
  if (keys.length > 0) await remove();
}

/** Removes a run's folder, manifest first, so that a half-removed folder never looks complete. */
export async function removeFolder(
  store: ObjectStore,
  folder: ObjectKey,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  await store.remove([inFolder(folder, MANIFEST)]);
  await removeAll(store, `${folder}/`, signal);
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

/** Removes what `listStrayParts` finds. No manifest names them later, because each attempt uses its own part names. */
export async function removeStrayParts(
  store: ObjectStore,
  at: { readonly folder: ObjectKey; readonly parts: Parts | null; readonly by: RunId },
  signal: AbortSignal,
): Promise<void> {
  const strays = await listStrayParts(store, at);
  signal.throwIfAborted();
  await store.remove(strays);
}

type Parts = readonly Pick<PublishedPart, 'key'>[];

function unnamed(keys: readonly ObjectKey[], parts: Parts): ObjectKey[] {
  const named = new Set<string>(parts.flatMap((part) => indexedObjects(part.key)));
  return keys.filter((key) => !named.has(key));
}
