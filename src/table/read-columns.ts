import type { ObjectStore } from '../lake/store/index.js';
import { readTable } from './log/read-table.js';
import { decodeSchema, type TableColumn } from './rules/table-columns.js';

/**
 * The columns of a table as its newest version has them, in its order. A column whose name is not valid in Delta has
 * an `alias` that differs from its `name` in the snapshot (docs/explanation/delta-tables.md#types).
 *
 * @returns `null` if the resource has no table
 * @throws DamagedError if the log is damaged; ConfigurationError if the log has a checkpoint, and the packages that
 * read Parquet are not installed; StoreError if the store fails
 * @example
 * const columns = await readTableColumns(store, 'tasks');
 * const renamed = columns?.filter(({ name, alias }) => name !== alias) ?? [];
 */
export async function readTableColumns(
  store: ObjectStore,
  resource: string,
): Promise<readonly TableColumn[] | null> {
  const { state } = await readTable(store, resource);
  return state.metaData === null ? null : decodeSchema(state.metaData.schemaString);
}
