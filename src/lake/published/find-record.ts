import type { PurgeCounts } from '../../core/contract/index.js';
import type { Tree } from '../documents/lake-layout.js';
import { type Manifest, type PublishedPart, readManifest } from '../documents/manifest.js';
import { checkLayoutOf } from '../documents/pointer.js';
import { framingOf } from '../part/framing.js';
import { readPartRows } from '../part/part-rows.js';
import { readPartIndex } from '../part/read-index.js';
import { BlockReader } from '../part/reader.js';
import { columnName } from '../rows/data-columns.js';
import { maskedColumns, unmaskedKeys } from '../rows/profile.js';
import { payloadAt, rowKey, rowKeys, type SortKey } from '../rows/row.js';
import type { ObjectStore } from '../store/index.js';
import { partsContaining, storedKey } from './purge-rules.js';
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
 * Counts the snapshots and change logs of a resource that hold a record. Writes nothing.
 *
 * @param values key values, in the order of the key fields
 * @throws LakeLayoutError; RangeError if the key is masked, because the lake alone cannot tell which rows are meant
 */
export async function findRecord(
  store: ObjectStore,
  resource: string,
  values: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Promise<PurgeCounts> {
  await checkLayoutOf(store, resource);
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
  return found;
}

async function holds(
  store: ObjectStore,
  manifest: Manifest,
  values: readonly string[],
  { tree, signal }: Omit<InTree, 'key'>,
): Promise<boolean> {
  const profile = { key: manifest.key, csv: manifest.csv, columns: manifest.selection };
  if (maskedColumns(profile, manifest.key.map(columnName)).length > 0)
    throw new RangeError(
      'the key is masked, so only a purge, which has the masking secret, can find the record',
    );
  const key = storedKey(unmaskedKeys(profile), values);
  for (const part of partsContaining(manifest, key))
    if (await containsKey(store, manifest, part, { tree, key, signal })) return true;
  return false;
}
