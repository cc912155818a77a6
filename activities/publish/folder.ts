import type { ObjectKey } from '../../src/core/brands.js';
import { dateOf, indexedObjects, inFolder, MANIFEST, runFolder, type Tree } from '../../src/lake/layout.js';
import { encodeManifest, type ManifestInput, type PublishedPart } from '../../src/lake/manifest.js';
import type { RunFile } from '../../src/lake/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

function folderIn(run: RunFile, tree: Tree): ObjectKey {
  return runFolder(run.resource.name, tree, dateOf(run.nominalStart), run.runId);
}

/** What other attempts left in a run's folder. */
export async function listStrays(
  store: ObjectStore,
  run: RunFile,
  tree: Tree,
  parts: readonly PublishedPart[],
): Promise<ObjectKey[]> {
  const folder = folderIn(run, tree);
  // The manifest of an attempt before is written over, never removed: the pointer may name it by now.
  const accepted = new Set<string>([
    inFolder(folder, MANIFEST),
    ...parts.flatMap((part) => indexedObjects(part.key)),
  ]);
  const strays: ObjectKey[] = [];
  for await (const { key } of store.list(`${folder}/`)) if (!accepted.has(key)) strays.push(key);
  return strays;
}

/** Completes a run's folder. @returns the manifest's key */
export async function writeManifest(
  store: ObjectStore,
  run: RunFile,
  manifest: ManifestInput,
): Promise<ObjectKey> {
  const key = inFolder(folderIn(run, manifest.tree === 'snapshot' ? 'snapshots' : 'changes'), MANIFEST);
  await store.write(key, encodeManifest(manifest), { contentType: 'application/json' });
  return key;
}
