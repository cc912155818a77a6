import type { ObjectKey, RunId } from '../../core/brands.js';
import { folderOf, indexedObjects, inFolder, MANIFEST, nameOf } from '../../lake/documents/lake-layout.js';
import {
  decodeManifest,
  type Manifest,
  type PublishedPart,
  readManifest,
} from '../../lake/documents/manifest.js';
import { copyPart } from '../../lake/part/copy-part.js';
import { containsKey } from '../../lake/published/find-record.js';
import { AMONG_OTHERS } from '../../lake/published/foreign-files.js';
import {
  isOfLaterPurge,
  type PurgedPart,
  partsContaining,
  purgeToken,
  replaceParts,
  storedKey,
} from '../../lake/published/purge-rules.js';
import { type Version, writeIfUnchanged } from '../../lake/published/swap.js';
import type { SortKey } from '../../lake/rows/row.js';
import { ALL_REMOVED, collected, type ObjectStore, type Removal } from '../../lake/store/index.js';
import { withKeySecret, type withMaskingKey } from '../masking-secret.js';

export interface TreePurge {
  readonly tree: 'snapshots' | 'changes';
  /** The manifest of the run in this tree. */
  readonly manifest: ObjectKey;
  /** The values of the record's key. */
  readonly values: readonly string[];
  readonly by: RunId;
  /** For a key that is masked. */
  readonly masking: Parameters<typeof withMaskingKey>[0];
  /** Receives what the store refused to remove. */
  readonly onRefused: (removal: Removal) => void;
  readonly signal: AbortSignal;
}

/** Attempts at one folder. The next one starts when another process has replaced the manifest. */
const MAX_TRIES = 5;

/**
 * Removes one record from one folder of a run: writes the part without the record, makes the manifest name the new part,
 * and removes the old part. Readers that follow the manifest see either the old or the new part. The function is
 * idempotent.
 *
 * Two concurrent attempts are safe (docs/internals/recovery.md#writes). Each writes parts under its own names. The manifest is
 * replaced only if it is still the version that was read; otherwise the function starts again with the current one. Old
 * parts are removed last. A manifest write of another attempt that is still in flight expects an earlier version, so
 * the store rejects it.
 *
 * @returns the current manifest; `null` if there is none
 */
export async function purgeTree(store: ObjectStore, purge: TreePurge): Promise<Manifest | null> {
  const folder = folderOf(purge.manifest);
  for (let tries = 1; ; tries++) {
    purge.signal.throwIfAborted();
    const found = await store.readIfExists(purge.manifest);
    if (found === null) return null;
    const manifest = await removeFromManifest(store, found, purge);
    if (manifest !== null) {
      purge.onRefused(await removeStrayParts(store, folder, manifest, purge));
      return manifest;
    }
    if (tries === MAX_TRIES)
      throw new Error(`${purge.manifest} is being changed by another purge. Try again later.`);
  }
}

/**
 * Removes stray parts and their indexes: objects in a run's folder that its manifest does not name. Replaced attempts leave
 * them, and no manifest names them later, because each attempt uses its own part names. Parts of a purge that began later
 * are skipped, because that purge may be about to name them.
 *
 * @returns the objects that the store refused to remove
 */
async function removeStrayParts(
  store: ObjectStore,
  folder: ObjectKey,
  manifest: Manifest,
  { by, signal }: TreePurge,
): Promise<Removal> {
  const found = (await collected(store.list(`${folder}/`, AMONG_OTHERS))).map(({ key }) => key);
  // A replaced attempt removes nothing more, neither here nor after it.
  signal.throwIfAborted();
  const mayRemove = (name: string): boolean => /^_?part-/.test(name) && !isOfLaterPurge(name, by);
  const strays = unnamed(found, manifest).filter((key) => mayRemove(nameOf(key)));
  if (strays.length === 0) return ALL_REMOVED;
  // Read after the listing: the manifest may have been replaced and may name a listed part now.
  const current = await readManifest(store, inFolder(folder, MANIFEST));
  signal.throwIfAborted();
  return current === null ? ALL_REMOVED : store.remove(unnamed(strays, current));
}

function unnamed(keys: readonly ObjectKey[], { parts }: Manifest): ObjectKey[] {
  const named = new Set<string>(parts.flatMap((part) => indexedObjects(part.key)));
  return keys.filter((key) => !named.has(key));
}

/** @returns the manifest without the record; `null` when another process has replaced the manifest since it was read */
async function removeFromManifest(
  store: ObjectStore,
  found: Version,
  purge: TreePurge,
): Promise<Manifest | null> {
  const folder = folderOf(purge.manifest);
  const manifest = decodeManifest(found.body, folder);
  const key = storedKey(
    await withKeySecret(purge.masking, { key: manifest.key, csv: manifest.csv, columns: manifest.selection }),
    purge.values,
  );
  const replaced: PurgedPart[] = [];
  for (const part of partsContaining(manifest, key)) {
    if (!(await containsKey(store, manifest, part, { key, ...purge }))) continue;
    const written = await writePartWithout(store, manifest, part, key, purge);
    const after = written.rows === 0 && manifest.parts.length > 1 ? null : written;
    replaced.push({ before: part, after, by: purge.by });
  }
  if (replaced.length === 0) return manifest;
  const body = replaceParts(found.body, replaced, purge.tree);
  purge.signal.throwIfAborted();
  const outcome = await writeIfUnchanged(store, purge.manifest, body, found);
  // If the write is rejected, our new parts are strays. A later try removes them, when no manifest can name them.
  return outcome === 'written' ? decodeManifest(body, folder) : null;
}

function writePartWithout(
  store: ObjectStore,
  manifest: Manifest,
  part: PublishedPart,
  gone: SortKey,
  { tree, by, signal }: TreePurge,
): Promise<PublishedPart> {
  const name = nameOf(part.key).replace(/^(part-\d+)-[0-9a-f]+/, `$1-${purgeToken(by)}`);
  return copyPart(store, part, manifest, {
    to: inFolder(folderOf(part.key), name),
    index: tree === 'snapshots' ? 'beside' : 'none',
    keeps: (key) => key !== gone,
    signal,
  });
}
