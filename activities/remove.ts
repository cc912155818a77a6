import type { ObjectKey } from '../src/core/brands.js';
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
