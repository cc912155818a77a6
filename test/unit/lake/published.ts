import type { ByteString, ObjectKey, RunId, UtcSeconds } from '../../../src/core/brands.js';
import { toByteString } from '../../../src/core/brands.js';
import type { CsvSettings } from '../../../src/core/settings.js';
import { manifestChecksums } from '../../../src/lake/documents/checksums.js';
import {
  inFolder,
  MANIFEST,
  partName,
  pointerKey,
  runFolder,
  type Tree,
} from '../../../src/lake/documents/lake-layout.js';
import {
  addLineBreaks,
  encodeManifest,
  type ManifestFields,
  type PublishedPart,
} from '../../../src/lake/documents/manifest.js';
import { encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import { framingOf } from '../../../src/lake/part/framing.js';
import { PartWriter } from '../../../src/lake/part/part-writer.js';
import { writeRows } from '../../../src/lake/rows/csv.js';
import { type Column, headerCells } from '../../../src/lake/rows/data-columns.js';
import { sortKey } from '../../../src/lake/rows/row.js';
import { shapeOf } from '../../../src/lake/rows/shapes.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { WRITER } from '../../support/writer.js';

export const CSV: CsvSettings = {
  compression: 'gzip',
  delimiter: ',',
  nested: 'json',
  separator: '.',
  lineBreaks: 'keep',
  escapeFormulas: false,
  partBytes: 64 * 1024 * 1024,
};

export interface PublishOptions {
  readonly resource: string;
  readonly runId: RunId;
  readonly date: string;
  readonly columns: readonly Column[];
  /** Fields of the key, which are the first columns. Default: the first column. */
  readonly key?: readonly string[];
  readonly selection?: ManifestFields['selection'];
  /** Rows of the snapshot by part, in key order; the first cells are the key. */
  readonly parts: readonly (readonly (readonly (string | null)[])[])[];
  readonly csv?: Partial<CsvSettings>;
  readonly deletedAt?: (row: readonly (string | null)[]) => UtcSeconds | null;
  /** Rows in a block. */
  readonly blockRows?: number;
}

export interface PublishedRun {
  readonly pointer: Pointer;
  readonly manifest: ManifestFields;
  readonly parts: readonly PublishedPart[];
}

const SYNCED = '2026-11-21T02:00:00Z';

/** Publishes a first run the way the activities do: parts, then manifests, then the pointer. */
export async function publishRun(store: ObjectStore, options: PublishOptions): Promise<PublishedRun> {
  const { resource, runId, columns, parts } = options;
  const rows = parts.reduce((sum, part) => sum + part.length, 0);
  const csv = { ...CSV, ...options.csv };
  const base: Omit<ManifestFields, 'tree' | 'parts'> = {
    connection: 'acme',
    baseUrl: 'https://tracker.example.com',
    resource,
    runId,
    writer: WRITER,
    previousRuns: [],
    leftBehind: [],
    mode: 'full',
    updatedSince: null,
    rolledBack: null,
    checkpoint: { updatedSince: '2026-11-21T01:55:00Z' as UtcSeconds },
    startedAt: new Date(SYNCED).toISOString(),
    publishedAt: new Date(Date.parse(SYNCED) + 1000).toISOString(),
    pages: 1,
    counts: {
      fetched: rows,
      duplicates: 0,
      unchanged: 0,
      inserted: rows,
      updated: 0,
      deleted: 0,
      retained: 0,
      rows,
      restated: 0,
    },
    columns,
    ...{ key: options.key ?? [columns[0]!.name], csv },
    selection: options.selection ?? { include: null, exclude: [], mask: {} },
    fingerprint: '0123456789abcdef',
    list: { path: resource },
    shapes: [shapeOf({ key: [], csv, columns: { include: null, exclude: [], mask: {} } }, null)],
    fullRead: null,
    readUpTo: { workflow: new Date(0).toISOString(), service: null },
    gap: null,
    deletes: { basis: 'two-readings', windowField: null, reason: null, notListed: null },
    changesLineBreaks: 0,
    warningFacts: [],
  };
  const snapshotParts = await writeTree(store, options, csv, 'snapshots');
  const changeParts = await writeTree(store, options, csv, 'changes');
  const both = { ...base, changesLineBreaks: addLineBreaks(0, changeParts) };
  const snapshot = await writeManifest(store, options, 'snapshots', {
    ...both,
    tree: 'snapshot',
    parts: snapshotParts,
  });
  const changes = await writeManifest(store, options, 'changes', {
    ...both,
    tree: 'changes',
    parts: changeParts,
  });
  const pointer: Pointer = {
    resource,
    runId,
    snapshot,
    changes,
    ...{ publishedAt: base.publishedAt, checkpoint: base.checkpoint },
    rows,
    connection: base.connection,
    baseUrl: base.baseUrl,
    writer: WRITER,
    manifests: await manifestChecksums(store, { snapshot, changes }),
    rolledBack: base.rolledBack,
  };
  await store.write(pointerKey(resource), encodePointer(pointer));
  return { pointer, manifest: { ...both, tree: 'snapshot', parts: snapshotParts }, parts: snapshotParts };
}

async function writeManifest(
  store: ObjectStore,
  { resource, runId, date }: PublishOptions,
  tree: Tree,
  manifest: ManifestFields,
): Promise<ObjectKey> {
  const key = inFolder(runFolder(resource, tree, date, runId), MANIFEST);
  await store.write(key, encodeManifest(manifest));
  return key;
}

async function writeTree(
  store: ObjectStore,
  options: PublishOptions,
  csv: CsvSettings,
  tree: Tree,
): Promise<PublishedPart[]> {
  const { resource, runId, date, columns, parts, blockRows = 3 } = options;
  const framing = framingOf(csv);
  const folder = runFolder(resource, tree, date, runId);
  const published: PublishedPart[] = [];
  for (const [number, rows] of parts.entries()) {
    const writer = new PartWriter(store, inFolder(folder, partName(number, '1a2b3c4d', framing.extension)), {
      framing,
      header: writeRows([headerCells(columns)], csv.delimiter),
      columns: columns.length,
      index: tree === 'snapshots' ? 'beside' : 'none',
    });
    for (let at = 0; at < rows.length; at += blockRows) {
      const block = rows.slice(at, at + blockRows);
      await writer.append({
        text: textOf(block, options, csv.delimiter),
        rows: block.length,
        first: keyOf(block[0]!, options),
        last: keyOf(block.at(-1)!, options),
      });
    }
    published.push(await writer.finish());
  }
  return published;
}

function keyOf(row: readonly (string | null)[], { key = [''] }: Pick<PublishOptions, 'key'>) {
  return sortKey(row.slice(0, key.length).map((cell) => toByteString(cell!)));
}

function textOf(
  rows: readonly (readonly (string | null)[])[],
  options: PublishOptions,
  delimiter: string,
): ByteString {
  return writeRows(
    rows.map((row) =>
      [options.runId, SYNCED, options.deletedAt?.(row) ?? null, ...row].map((cell) =>
        cell === null ? null : toByteString(cell),
      ),
    ),
    delimiter,
  );
}
