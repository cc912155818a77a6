import { type ByteString, fromByteString } from '../../core/brands.js';
import type { Manifest } from '../documents/manifest.js';
import { readPartRows } from '../part/part-rows.js';
import { readRow } from '../rows/csv.js';
import { META_COLUMNS } from '../rows/data-columns.js';
import { cellDecoder } from '../rows/escaping.js';
import type { ObjectStore } from '../store/index.js';

/**
 * Reads the rows of a published tree in key order, as CSV text with the LF and without headers. Cells are as stored, with
 * the escapes of `manifest.csv`. Parts are streamed, so a
 * caller that stops early reads little more than it uses. The rows are not verified.
 *
 * @throws DamagedError if a part cannot be decompressed; StoreError if it cannot be read
 */
export async function* rowTexts(store: ObjectStore, manifest: Manifest): AsyncGenerator<ByteString> {
  const { compression } = manifest.csv;
  for (const part of manifest.parts) {
    for await (const rows of readPartRows(store, part, { compression })) yield* rows;
  }
}

/**
 * As `rowTexts`, but as values: the service's literal text in the order of the header, without the escapes of
 * `csv.lineBreaks` and `csv.escapeFormulas`; `null` for an empty unquoted field (docs/explanation/guarantees.md#values).
 *
 * @example
 * const { manifest } = await readPublished(store, 'tasks');
 * for await (const cells of readRows(store, manifest)) console.log(cells);
 */
export async function* readRows(store: ObjectStore, manifest: Manifest): AsyncGenerator<(string | null)[]> {
  const decode = cellDecoder(manifest.csv);
  for await (const row of rowTexts(store, manifest)) {
    yield readRow(row, manifest.csv.delimiter).map((cell) => {
      if (cell === null) return null;
      return fromByteString(decode === null ? cell : decode(cell));
    });
  }
}

/** A row by column name: the literal text of each value, `null` for none. It has no prototype. */
export type LakeRecord = Readonly<Record<string, string | null>>;

export interface ReadRecordsOptions {
  /** `live` (default) leaves out deleted rows; `all` includes them, with `_deleted_at` set. */
  readonly rows?: 'live' | 'all' | undefined;
}

/**
 * The names of the columns, in the order of the cells of `readRows`: `_run_id`, `_synced_at`, `_deleted_at`, then the
 * service's fields.
 *
 * @example
 * const { manifest } = await readPublished(store, 'tasks');
 * const at = columnNames(manifest).indexOf('title');
 */
export function columnNames(manifest: Manifest): string[] {
  return [...META_COLUMNS, ...manifest.columns.map(({ name }) => name)];
}

/**
 * Reads the rows of a published tree in key order, as objects. It streams, so memory does not grow with the number of
 * rows. Values are the literal text of the service; numbers are not converted, because that could round them. The rows
 * are not verified.
 *
 * @throws DamagedError if a part cannot be decompressed; StoreError if it cannot be read
 * @example
 * const { manifest } = await readPublished(store, 'time-entries');
 * for await (const entry of readRecords(store, manifest)) console.log(entry.id, entry.durationSeconds);
 */
export async function* readRecords(
  store: ObjectStore,
  manifest: Manifest,
  { rows = 'live' }: ReadRecordsOptions = {},
): AsyncGenerator<LakeRecord> {
  const columns = columnNames(manifest);
  const deletedAt = columns.indexOf('_deleted_at');
  for await (const cells of readRows(store, manifest)) {
    if (rows === 'live' && (cells[deletedAt] ?? null) !== null) continue;
    const record: Record<string, string | null> = Object.create(null);
    for (const [at, name] of columns.entries()) record[name] = cells[at] ?? null;
    yield record;
  }
}
