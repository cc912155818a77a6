import { expect } from 'vitest';
import type { ObjectKey } from '../../src/core/brands.js';
import { folderOf, indexedObjects, nameOf } from '../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../src/lake/documents/manifest.js';
import { readChain } from '../../src/lake/published/chain.js';
import { collected, type ObjectStore } from '../../src/lake/store/index.js';
import { isStaged, readPointer } from './snapshot.js';

/** Checks that a resource has no objects that a successful run must not leave: staged ones, and parts that are in no manifest. */
export async function checkTidy(store: ObjectStore, resource: string): Promise<void> {
  const objects = async (prefix: string): Promise<ObjectKey[]> =>
    (await collected(store.list(prefix))).map(({ key }) => key);
  expect((await objects('_staging/')).filter(isStaged)).toEqual([]);
  const pointer = { ...(await readPointer(store, resource)), resource };
  const named = new Set<string>();
  for await (const run of readChain(store, pointer))
    for (const part of run.manifest.parts) named.add(part.key);
  for (const key of await objects(`${resource}/changes/`))
    if (nameOf(key).startsWith('part-')) expect(named, 'change logs on the chain').toContain(key);
  for (const key of await objects(`${resource}/snapshots/`)) {
    if (!/^_?part-/.test(nameOf(key))) continue;
    const manifest = decodeManifest(
      await store.read(`${folderOf(key)}/_datapackage.json` as ObjectKey),
      folderOf(key),
    );
    expect(manifest.parts.flatMap((part) => indexedObjects(part.key))).toContain(key);
  }
}
