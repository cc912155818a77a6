import { pointerKey } from '../lake/published/layout.js';
import { readManifest } from '../lake/published/manifest.js';
import { decodePointer } from '../lake/published/pointer.js';
import type { Column } from '../lake/rows/schema.js';
import type { ObjectStore } from '../lake/store/index.js';

/** Columns of a resource's published snapshot with the JSON types of their values; empty without a snapshot. */
export async function publishedColumns(store: ObjectStore, resource: string): Promise<readonly Column[]> {
  const pointer = await store.readIfExists(pointerKey(resource));
  if (pointer === null) return [];
  const { snapshot } = decodePointer(pointer.body);
  return (await readManifest(store, snapshot))?.columns ?? [];
}
