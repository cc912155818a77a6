import type { ObjectKey } from '../../src/core/brands.js';
import { folderOf, rolledBackRoot } from '../../src/lake/layout.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/**
 * Moves the change logs of runs that were rolled back out of the readers' way; nothing of them is lost. Done again after
 * it was cut short, it goes on.
 *
 * @param manifests of the change logs
 */
export async function moveAside(
  store: ObjectStore,
  resource: string,
  manifests: readonly ObjectKey[],
  signal: AbortSignal,
): Promise<void> {
  for (const manifest of manifests) {
    const folder = `${folderOf(manifest)}/`;
    const moved: ObjectKey[] = [];
    for await (const { key } of store.list(folder)) {
      signal.throwIfAborted();
      await store.copy(key, `${rolledBackRoot(resource)}${key.slice(resource.length)}` as ObjectKey);
      moved.push(key);
    }
    await store.remove(moved);
  }
}
