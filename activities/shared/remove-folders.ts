import type { ObjectKey } from '../../src/core/brands.js';
import { inFolder, MANIFEST } from '../../src/lake/documents/lake-layout.js';
import { folderIn, type RunPlace } from '../../src/lake/documents/run-file.js';
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

/** Removes both folders of a run that is not published. */
export async function removeRun(store: ObjectStore, run: RunPlace, signal: AbortSignal): Promise<void> {
  for (const tree of ['changes', 'snapshots'] as const)
    await removeFolder(store, folderIn(run, tree), signal);
}
