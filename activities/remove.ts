import type { ObjectKey } from '../src/core/brands.js';
import { indexedObjects, nameOf } from '../src/lake/layout.js';
import type { PublishedPart } from '../src/lake/manifest.js';
import type { ObjectStore } from '../src/lake/store/index.js';

const REMOVED_AT_ONCE = 1000;

/** Removes every object below a prefix, as it is listed. */
export async function removeAll(store: ObjectStore, prefix: string): Promise<void> {
  let keys: ObjectKey[] = [];
  for await (const { key } of store.list(prefix)) {
    keys.push(key);
    if (keys.length < REMOVED_AT_ONCE) continue;
    await store.remove(keys);
    keys = [];
  }
  await store.remove(keys);
}

/** Removes parts, and their indexes, that lie in a run's folder and that its manifest does not name. */
export async function removeStrayParts(
  store: ObjectStore,
  folder: ObjectKey,
  parts: readonly Pick<PublishedPart, 'key'>[],
): Promise<void> {
  const accepted = new Set<string>(parts.flatMap((part) => indexedObjects(part.key)));
  const strays: ObjectKey[] = [];
  for await (const { key } of store.list(`${folder}/`)) {
    if (/^_?part-/.test(nameOf(key)) && !accepted.has(key)) strays.push(key);
  }
  await store.remove(strays);
}
