import type { Manifest } from '../published/manifest.js';
import type { ObjectStore } from '../store/index.js';
import { readRows } from './read-rows.js';
import { META_COLUMNS } from './schema.js';

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
