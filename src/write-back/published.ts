import { pointerKey } from '../lake/layout.js';
import { readManifest } from '../lake/manifest.js';
import { decodePointer } from '../lake/pointer.js';
import type { Column } from '../lake/schema.js';
import type { ObjectStore } from '../lake/store/index.js';

/** Columns of a resource's published snapshot with the JSON types seen in them; none where nothing is published. */
export async function publishedColumns(store: ObjectStore, resource: string): Promise<readonly Column[]> {
  const pointer = await store.readIfExists(pointerKey(resource));
  if (pointer === null) return [];
  const { snapshot } = decodePointer(pointer.body);
  return (await readManifest(store, snapshot))?.columns ?? [];
}
