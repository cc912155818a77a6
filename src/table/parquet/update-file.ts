import type { DuckDBConnection } from '@duckdb/node-api';
import {
  countUnfitIn,
  sqlName,
  sqlString,
  storedRows,
  type Target,
  withLimits,
  writeRows,
} from './convert-text.js';
import { type Converted, type FileUpdate, TYPES_KEY, UNFIT_KEY, UPDATED_KEY } from './part-file.js';

/** A file is converted in full, and so in the order of its keys, when updates have written more than this share of its rows. */
const MOST_UPDATED = 0.2;

/** The metadata in the footer of a file. */
export async function footerOf(connection: DuckDBConnection, path: string): Promise<Record<string, string>> {
  const sql = `SELECT decode(key), decode(value) FROM parquet_kv_metadata(${sqlString(path)})`;
  const rows = await connection.runAndReadAll(sql);
  return Object.fromEntries(rows.getRowsJS() as [string, string][]);
}

/**
 * Writes the file of a part from that of the part before. Its values were proven when they were read from text, so only those of the changed
 * rows are. Two keys that differ as text can be equal as values; then there are fewer rows than the part has.
 *
 * @returns `null` if the file has other types or values that do not fit, so that the part must be converted in full
 * @throws as `convertText`
 */
export async function updateFile(
  connection: DuckDBConnection,
  { before, changes, part, key }: FileUpdate,
  target: Target,
): Promise<Converted | null> {
  const { columns } = part;
  const types = columns.map(({ type }) => type);
  const footer = await footerOf(connection, before);
  const updated = Number(footer[UPDATED_KEY] ?? 0) + changes.rows;
  const expected = columns.map(({ fixed }) => (fixed ? 0 : null));
  if (footer[TYPES_KEY] !== JSON.stringify(types) || footer[UNFIT_KEY] !== JSON.stringify(expected))
    return null;
  if (updated > part.rows * MOST_UPDATED) return null;
  return withLimits(connection, changes, async (text) => {
    const changed = storedRows(text, columns, types);
    const names = changed.names.map(sqlName).join(', ');
    const unfit = await countUnfitIn(connection, text, columns);
    const sql = `WITH changed AS MATERIALIZED (${changed.sql})
      SELECT ${names} FROM read_parquet(${sqlString(before)}) ANTI JOIN changed USING (${key.map(sqlName).join(', ')})
      UNION ALL SELECT ${names} FROM changed`;
    const rows = await writeRows(connection, sql, target, { part, types, unfit }, updated);
    return rows === null ? null : { rows, types, unfit };
  });
}
