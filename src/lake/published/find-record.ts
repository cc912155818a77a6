import type { PurgeCounts } from '../../core/contract/index.js';
import type { Tree } from '../documents/lake-layout.js';
import { type Manifest, type PublishedPart, readManifest } from '../documents/manifest.js';
import { checkLayoutOf, readPointer } from '../documents/pointer.js';
import { framingOf } from '../part/framing.js';
import { readPartRows } from '../part/part-rows.js';
import { readPartIndex } from '../part/read-index.js';
import { BlockReader } from '../part/reader.js';
import { hasMaskedKey, type Profile, type ReadyProfile, unmaskedKeys } from '../rows/profile.js';
import { payloadAt, rowKey, rowKeys, type SortKey } from '../rows/row.js';
import type { ObjectStore } from '../store/index.js';
import { partsContaining, storedKey } from './purge-rules.js';
import { countInQuarantine, keysInQuarantine } from './quarantine.js';
import { listRuns } from './run-folders.js';

interface InTree {
  readonly tree: Tree;
  readonly key: SortKey;
  readonly signal: AbortSignal;
}

/** Whether a part has a row with this key. A change log has no block index, so its rows are read. */
export async function containsKey(
  store: ObjectStore,
  { key: fields, csv }: Pick<Manifest, 'key' | 'csv'>,
  part: PublishedPart,
  { tree, key, signal }: InTree,
): Promise<boolean> {
  const index = tree === 'changes' ? null : await readPartIndex(store, part, signal);
  if (index === null) {
    for await (const rows of readPartRows(store, part, { compression: csv.compression, signal })) {
      for (const row of rows) {
        const found = rowKey(row, payloadAt(row), fields.length, csv.delimiter);
        if (found >= key) return found === key;
      }
    }
    return false;
  }
  const { blocks } = index;
  const at = blocks.findIndex(({ first, last }) => first <= key && key <= last);
  if (at === -1) return false;
  const reader = new BlockReader(store, { key: part.key, blocks, framing: framingOf(csv) }, { signal });
  return rowKeys(await reader.rows(at), fields.length, csv.delimiter, 'all').includes(key);
}

/**
 * Counts the snapshots, change logs and quarantine files of a resource that hold a record. Writes nothing.
 *
 * @param values key values, in the order of the key fields
 * @param configured the resource's settings; `null`: it is not configured
 * @throws LakeLayoutError; RangeError if the key is masked, because the lake alone cannot tell which rows are meant
 */
export async function findRecord(
  store: ObjectStore,
  resource: string,
  values: readonly string[],
  configured: Profile | null,
  signal: AbortSignal = new AbortController().signal,
): Promise<PurgeCounts> {
  await checkLayoutOf(store, resource);
  const quarantineFiles = await countQuarantined(store, resource, { values, configured, signal });
  const found = { snapshots: 0, changeLogs: 0 };
  for (const tree of ['snapshots', 'changes'] as const) {
    for (const at of (await listRuns(store, resource, tree)).values()) {
      const manifest = await readManifest(store, at);
      // Without a manifest, the run was never completed.
      if (manifest === null || !(await holds(store, manifest, values, { tree, signal }))) continue;
      if (tree === 'snapshots') found.snapshots++;
      else found.changeLogs++;
    }
  }
  return { ...found, quarantineFiles };
}

async function countQuarantined(
  store: ObjectStore,
  resource: string,
  {
    values,
    configured,
    signal,
  }: {
    readonly values: readonly string[];
    readonly configured: Profile | null;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const pointer = await readPointer(store, resource);
  const head = pointer === null ? null : await readManifest(store, pointer.snapshot);
  const profiles: Profile[] = configured === null ? [] : [configured];
  if (head !== null) profiles.unshift({ key: head.key, csv: head.csv, columns: head.selection });
  const { columns, keys } = keysInQuarantine(profiles.map(unmaskedProfile), values);
  return countInQuarantine(store, resource, { columns, isKey: (key) => keys.has(key) }, signal);
}

async function holds(
  store: ObjectStore,
  manifest: Manifest,
  values: readonly string[],
  { tree, signal }: Omit<InTree, 'key'>,
): Promise<boolean> {
  const profile = { key: manifest.key, csv: manifest.csv, columns: manifest.selection };
  const key = storedKey(unmaskedProfile(profile), values);
  for (const part of partsContaining(manifest, key))
    if (await containsKey(store, manifest, part, { tree, key, signal })) return true;
  return false;
}

/** @throws RangeError if the key is masked */
function unmaskedProfile(profile: Profile): ReadyProfile {
  if (!hasMaskedKey(profile)) return unmaskedKeys(profile);
  throw new RangeError(
    'the key is masked, so only a purge, which has the masking secret, can find the record',
  );
}
