import { gunzipSync } from 'node:zlib';
import { type ByteString, fromByteString, type ObjectKey } from '../../src/core/brands.js';
import { folderOf, pointerKey } from '../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../src/lake/documents/manifest.js';
import { decodePointer, type Pointer } from '../../src/lake/documents/pointer.js';
import { RowScanner, readRow } from '../../src/lake/rows/csv.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** A published tree as a reader sees it. */
export interface ReadTree {
  readonly header: string[];
  /** Cells as text by column name; `null` where the field is empty and unquoted. */
  readonly rows: Record<string, string | null>[];
  readonly warnings: readonly string[];
}

export async function readPointer(store: ObjectStore, resource: string): Promise<Pointer> {
  return decodePointer(await store.read(pointerKey(resource)));
}

/** The folders of all runs in a tree, such as `run=20261121T020000Z-1a2b3c4d`. */
export async function runsIn(
  store: ObjectStore,
  resource: string,
  tree: 'snapshots' | 'changes' = 'snapshots',
): Promise<string[]> {
  const root = `${resource}/${tree}/`;
  const dates = await store.listFolders(root);
  return (await Promise.all(dates.map((date) => store.listFolders(`${root}${date}/`)))).flat();
}

/** Whether a key is of a staged object. A probe of the bucket is none: a killed worker leaves its own for a day. */
export function isStaged(key: string): boolean {
  return key.startsWith('_staging/') && !key.startsWith('_staging/_probe-');
}

/** Follows `latest.json` to the snapshot and reads all of it. */
export async function readSnapshot(store: ObjectStore, resource: string): Promise<ReadTree> {
  return readTree(store, (await readPointer(store, resource)).snapshot);
}

export async function readTree(store: ObjectStore, manifestKey: ObjectKey): Promise<ReadTree> {
  const manifest = decodeManifest(await store.read(manifestKey), folderOf(manifestKey));
  let header: string[] = [];
  const rows: ReadTree['rows'] = [];
  for (const part of manifest.parts) {
    const body = await store.read(part.key);
    const text = (part.key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1');
    const [first, ...rest] = parse(text, manifest.csv.delimiter);
    header = first!.map((cell) => cell ?? '');
    for (const cells of rest) {
      if (cells.length !== header.length) throw new Error(`a row of ${part.key} has ${cells.length} cells`);
      const row: Record<string, string | null> = Object.create(null);
      for (const [at, name] of header.entries()) row[name] = cells[at] ?? null;
      rows.push(row);
    }
  }
  return { header, rows, warnings: manifest.warnings };
}

function parse(text: string, delimiter: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  const scanner = new RowScanner(text);
  for (let at = 0; at < text.length; ) {
    const end = scanner.end(at);
    rows.push(
      readRow(text.slice(at, end), delimiter).map((cell) =>
        cell === null ? null : fromByteString(cell as ByteString),
      ),
    );
    at = end;
  }
  return rows;
}
