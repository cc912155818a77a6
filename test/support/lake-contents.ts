import { createHash } from 'node:crypto';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** Every object of the lake with the hash of its content. */
export async function lakeContents(store: ObjectStore): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { key } of store.list(''))
    found[key] = createHash('sha256')
      .update(await store.read(key))
      .digest('hex');
  return found;
}
