import type { ObjectKey } from '../core/brands.js';
import { inFolder, MANIFEST } from '../lake/documents/lake-layout.js';
import { folderIn, type RunPlace } from '../lake/documents/run-file.js';
import { AMONG_OTHERS } from '../lake/published/foreign-files.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../lake/store/index.js';

/** Objects that one request removes at most. */
const REMOVED_AT_ONCE = 1000;

/** Removes objects. A replaced attempt stops before its next request. @returns those that the store refused to remove */
export async function removeKeys(
  store: ObjectStore,
  keys: readonly ObjectKey[],
  signal: AbortSignal,
): Promise<Removal> {
  let refused = ALL_REMOVED;
  for (let from = 0; from < keys.length; from += REMOVED_AT_ONCE) {
    signal.throwIfAborted();
    refused = addRemovals(refused, await store.remove(keys.slice(from, from + REMOVED_AT_ONCE)));
  }
  return refused;
}

/** Removes every object below a prefix, page by page of the listing. @returns as `removeKeys` */
export async function removeAll(store: ObjectStore, prefix: string, signal: AbortSignal): Promise<Removal> {
  let refused = ALL_REMOVED;
  let keys: ObjectKey[] = [];
  for await (const { key } of store.list(prefix, AMONG_OTHERS)) {
    keys.push(key);
    if (keys.length < REMOVED_AT_ONCE) continue;
    refused = addRemovals(refused, await removeKeys(store, keys, signal));
    keys = [];
  }
  return addRemovals(refused, await removeKeys(store, keys, signal));
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
  for await (const _ of store.list(`${folder}/`, AMONG_OTHERS)) refused++;
  // The manifest may not be there.
  return refused === 0 ? ALL_REMOVED : { ...first, refused };
}

/** Removes both folders of a run that is not published. */
export async function removeRun(store: ObjectStore, run: RunPlace, signal: AbortSignal): Promise<void> {
  for (const tree of ['changes', 'snapshots'] as const)
    await removeFolder(store, folderIn(run, tree), signal);
}
