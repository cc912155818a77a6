import { randomBytes } from 'node:crypto';
import type { ObjectKey, RunId } from '../../src/core/brands.js';
import { writeRows } from '../../src/lake/csv.js';
import { folderOf, inFolder, nameOf } from '../../src/lake/layout.js';
import { decodeManifest, type Manifest, type PublishedPart } from '../../src/lake/manifest.js';
import { copyRows } from '../../src/lake/part/copy-rows.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { decodeIndex, indexKey } from '../../src/lake/part/index-file.js';
import { BlockReader } from '../../src/lake/part/reader.js';
import { readPartRows } from '../../src/lake/part/rows.js';
import { PartWriter } from '../../src/lake/part/writer.js';
import { partsAround, replacePart, storedKey } from '../../src/lake/purge.js';
import { payloadAt, rowKey, rowKeys, type SortKey } from '../../src/lake/row.js';
import { headerCells } from '../../src/lake/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { removeStrayParts } from '../remove.js';

export interface TreePurge {
  readonly tree: 'snapshots' | 'changes';
  /** Of the tree's run. */
  readonly manifest: ObjectKey;
  /** Of the record's key. */
  readonly values: readonly string[];
  readonly by: RunId;
  readonly signal: AbortSignal;
}

/**
 * Removes one record from one run's tree: its part is written anew without it, the manifest is made to name the new
 * part, and the old one is removed. Whoever reads by the manifest sees the one or the other. Done twice, it does nothing
 * the second time.
 *
 * @returns the manifest as it is now; `null` where there is none
 */
export async function purgeTree(store: ObjectStore, purge: TreePurge): Promise<Manifest | null> {
  const folder = folderOf(purge.manifest);
  let found = await store.readIfExists(purge.manifest);
  if (found === null) return null;
  let manifest = decodeManifest(found.body, folder);
  const key = storedKey(profileOf(manifest), purge.values);
  for (const part of partsAround(manifest, key)) {
    if (!(await holds(store, manifest, part, key, purge))) continue;
    const written = await writeWithout(store, manifest, part, key, purge);
    const after = written.rows === 0 && manifest.parts.length > 1 ? null : written;
    const body = replacePart(found.body, { before: part, after, by: purge.by });
    await store.write(purge.manifest, body, { contentType: 'application/json' });
    found = { ...found, body };
    manifest = decodeManifest(body, folder);
  }
  // The part that was replaced, and what an attempt before this one left.
  await removeStrayParts(store, folder, manifest.parts);
  return manifest;
}

function profileOf({ key, csv, selection }: Manifest) {
  return { key, csv, columns: selection };
}

async function holds(
  store: ObjectStore,
  { key: fields, csv }: Manifest,
  part: PublishedPart,
  key: SortKey,
  { tree, signal }: TreePurge,
): Promise<boolean> {
  if (tree === 'changes') {
    for await (const rows of readPartRows(store, part, { compression: csv.compression, signal })) {
      for (const row of rows) {
        const found = rowKey(row, payloadAt(row), fields.length, csv.delimiter);
        if (found >= key) return found === key;
      }
    }
    return false;
  }
  const { blocks } = decodeIndex(await store.read(indexKey(part.key), { signal }));
  const at = blocks.findIndex(({ first, last }) => first <= key && key <= last);
  if (at === -1) return false;
  const reader = new BlockReader(store, { key: part.key, blocks, framing: framingOf(csv) }, 1, signal);
  return rowKeys(await reader.rows(at), fields.length, csv.delimiter, 'all').includes(key);
}

async function writeWithout(
  store: ObjectStore,
  { key: fields, csv, columns }: Manifest,
  part: PublishedPart,
  gone: SortKey,
  { tree, signal }: TreePurge,
): Promise<PublishedPart> {
  const token = randomBytes(4).toString('hex');
  const name = nameOf(part.key).replace(/^(part-\d+)-[0-9a-f]+/, `$1-${token}`);
  const index = tree === 'snapshots' ? await store.read(indexKey(part.key), { signal }) : null;
  const writer = new PartWriter(store, inFolder(folderOf(part.key), name), {
    framing: framingOf(csv),
    header: writeRows([headerCells(columns)], csv.delimiter),
    columns: index === null ? columns.length : decodeIndex(index).columns,
    index: tree === 'snapshots' ? 'beside' : 'none',
    signal,
  });
  try {
    await copyRows(readPartRows(store, part, { compression: csv.compression, signal }), writer, {
      keyColumns: fields.length,
      delimiter: csv.delimiter,
      each: (row, key) => (key === gone ? null : row),
    });
    const { key, bytes, rawBytes, rows, crc32, sha256, first, last } = await writer.finish();
    return { key, bytes, rawBytes, rows, crc32, sha256, first, last };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}
