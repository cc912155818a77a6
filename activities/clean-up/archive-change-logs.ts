import type { ObjectKey } from '../../src/core/brands.js';
import { folderOf, rolledBackRoot } from '../../src/lake/published/layout.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../src/lake/store/index.js';

/**
 * Moves the change logs of rolled-back runs to `_rolled-back/`, where readers do not look. Each folder is removed only
 * after all of it is copied, so a call that is interrupted can be repeated.
 *
 * @param manifests the manifests of the change logs
 */
export async function archiveChangeLogs(
  store: ObjectStore,
  resource: string,
  manifests: readonly ObjectKey[],
  signal: AbortSignal,
): Promise<Removal> {
  let refused = ALL_REMOVED;
  for (const manifest of manifests) {
    const folder = `${folderOf(manifest)}/`;
    const moved: ObjectKey[] = [];
    for await (const { key } of store.list(folder)) {
      signal.throwIfAborted();
      await store.copy(key, `${rolledBackRoot(resource)}${key.slice(resource.length)}` as ObjectKey);
      moved.push(key);
    }
    signal.throwIfAborted();
    refused = addRemovals(refused, await store.remove(moved));
  }
  return refused;
}
