import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll } from 'vitest';
import {
  type ByteString,
  fromByteString,
  type ObjectKey,
  type RunId,
  toByteString,
  type UtcSeconds,
} from '../../../src/core/brands.js';
import { decodeIndex, indexKey, type PartIndex } from '../../../src/lake/documents/block-index.js';
import type { PublishedPart } from '../../../src/lake/documents/manifest.js';
import { framingOf } from '../../../src/lake/part/framing.js';
import { PartWriter } from '../../../src/lake/part/part-writer.js';
import { BlockReader } from '../../../src/lake/part/reader.js';
import { type Cell, RowScanner, readRow, writeRows } from '../../../src/lake/rows/csv.js';
import { headerCells } from '../../../src/lake/rows/data-columns.js';
import type { MaskingKey } from '../../../src/lake/rows/masking-key.js';
import { type Profile, type ReadyProfile, readyProfile } from '../../../src/lake/rows/profile.js';
import { payloadAt, rowKey, type SortKey, sortKey } from '../../../src/lake/rows/row.js';
import { type ObjectStore, openStore, toObjectKey } from '../../../src/lake/store/index.js';
import { CSV } from './published.js';

export const OLD_RUN = '20261120T020000Z-00000001' as RunId;
export const NEW_RUN = '20261121T020000Z-00000002' as RunId;
export const OLD_TIME = '2026-11-20T02:00:00Z' as UtcSeconds;
export const NEW_TIME = '2026-11-21T02:00:00Z' as UtcSeconds;

export const bytes = toByteString;

/** A lake in a separate folder for the tests of one file. */
export function temporaryLake(): {
  readonly store: ObjectStore;
  newKey(extension?: string): ObjectKey;
  pathOf(key: ObjectKey): string;
} {
  let root = '';
  let count = 0;
  const lake = {
    store: undefined as unknown as ObjectStore,
    newKey: (extension = '.csv.gz') => toObjectKey(`t/${count++}/part-00000-00000000${extension}`),
    pathOf: (key: ObjectKey) => join(root, key),
  };
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'worktrack-lake-'));
    lake.store = openStore({ url: pathToFileURL(root).href });
  });
  afterAll(async () => {
    lake.store.close();
    await rm(root, { recursive: true, force: true });
  });
  return lake;
}

interface ProfileChanges {
  csv?: Partial<Profile['csv']>;
  columns?: Partial<Profile['columns']>;
  key?: readonly string[];
}

/** Settings of cells, without the secret that masks them. */
export function settingsOfCells(more: ProfileChanges = {}): Profile {
  return {
    key: more.key ?? ['id'],
    csv: { ...CSV, ...more.csv },
    columns: { include: null, exclude: [], mask: {}, ...more.columns },
  };
}

export function profileOf(more: ProfileChanges & { maskingKey?: MaskingKey } = {}): ReadyProfile {
  return readyProfile(settingsOfCells(more), more.maskingKey ?? null);
}

/** A row of the lake before it is text. */
export interface Row {
  readonly runId: RunId;
  readonly syncedAt: UtcSeconds;
  readonly deletedAt: UtcSeconds | null;
  /** Key first. */
  readonly cells: readonly (string | null)[];
}

export function rowText({ runId, syncedAt, deletedAt, cells }: Row, delimiter = ','): ByteString {
  const meta = [runId, syncedAt, deletedAt].map((cell) => (cell === null ? null : bytes(cell)));
  return writeRows([[...meta, ...cells.map((cell) => (cell === null ? null : bytes(cell)))]], delimiter);
}

export function readTextRow(text: string, delimiter = ','): Row {
  const [runId, syncedAt, deletedAt, ...cells] = readRow(text, delimiter).map((cell) =>
    cell === null ? null : fromByteString(cell),
  );
  return {
    runId: runId as RunId,
    syncedAt: syncedAt as UtcSeconds,
    deletedAt: deletedAt as UtcSeconds | null,
    cells,
  };
}

export function keyOfRow(row: Row, keyColumns: number): SortKey {
  return sortKey(row.cells.slice(0, keyColumns).map((cell) => bytes(cell ?? '')));
}

export const byKey = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Writes sorted rows to a part with a block for each of the given numbers of rows, over and over. */
export async function writePart(
  store: ObjectStore,
  key: ObjectKey,
  rows: readonly Row[],
  options: {
    readonly columns: readonly string[];
    readonly keyColumns?: number;
    readonly blockRows?: readonly number[];
    readonly compression?: 'gzip' | 'none';
    readonly delimiter?: string;
  },
): Promise<PublishedPart> {
  const { columns, keyColumns = 1, blockRows = [3], compression = 'gzip', delimiter = ',' } = options;
  const writer = new PartWriter(store, key, {
    framing: framingOf({ compression }),
    header: writeRows([headerCells(columns.map((name) => ({ name, types: 0 })))], delimiter),
    columns: columns.length,
  });
  for (let from = 0, block = 0; from < rows.length; block++) {
    const some = rows.slice(from, from + blockRows[block % blockRows.length]!);
    from += some.length;
    await writer.append({
      text: some.map((row) => rowText(row, delimiter)).join('') as ByteString,
      rows: some.length,
      first: keyOfRow(some[0]!, keyColumns),
      last: keyOfRow(some.at(-1)!, keyColumns),
    });
  }
  return writer.finish();
}

export async function readIndex(store: ObjectStore, key: ObjectKey): Promise<PartIndex> {
  return decodeIndex(await store.read(indexKey(key)), key);
}

/** Offset after the LF of the row that starts at `at`. */
export function rowEnd(text: string, at: number): number {
  return new RowScanner(text).end(at);
}

/** All rows of a part, read block by block through its index. */
export async function readPart(store: ObjectStore, key: ObjectKey, delimiter = ','): Promise<Row[]> {
  const { blocks } = await readIndex(store, key);
  const framing = framingOf({ compression: key.endsWith('.gz') ? 'gzip' : 'none' });
  const reader = new BlockReader(store, { key, blocks, framing }, { batchBytes: 100 });
  const rows: Row[] = [];
  for (const at of blocks.keys()) rows.push(...rowsOf(await reader.rows(at), delimiter));
  return rows;
}

export function rowsOf(text: string, delimiter = ','): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < text.length; at = rowEnd(text, at)) {
    rows.push(readTextRow(text.slice(at, rowEnd(text, at)), delimiter));
  }
  return rows;
}

export function keysOf(text: string, keyColumns: number, delimiter = ','): SortKey[] {
  const keys: SortKey[] = [];
  for (let at = 0; at < text.length; at = rowEnd(text, at)) {
    keys.push(rowKey(text, payloadAt(text, at), keyColumns, delimiter));
  }
  return keys;
}

/** Text that is awkward in CSV, in JSON or to compare. */
export const anyText = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      'a',
      'b',
      '"',
      ',',
      ';',
      '\t',
      '|',
      '\n',
      '\r',
      '\\',
      ' ',
      '\0',
      '\u0001',
      'é',
      '日',
      '😀',
      "'",
      '0',
    ),
    maxLength: 8,
  }),
  fc.constantFrom(
    '',
    '"',
    '""',
    ',',
    '\n',
    '\r',
    '\r\n',
    '\ufeff',
    ' x ',
    'null',
    'NULL',
    '\\N',
    '=1+1',
    '-',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }).map((text) => text.toWellFormed()),
);

export const anyCell: fc.Arbitrary<Cell> = fc.oneof(
  { weight: 5, arbitrary: anyText.map(bytes) },
  { weight: 1, arbitrary: fc.constant(null) },
);
