import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { sqlName, sqlString } from '../../src/sql/ddl/names-and-quotes.js';
import type { DeltaTable } from './delta-rs.js';
import { findPythonPackage } from './python-packages.js';

/** Of the extension and of the DuckDB in `package.json`. */
const VERSION = '1.5.5';

/** The query that reads a table. @param version default: the newest */
export function deltaQuery(path: string, version?: number): string {
  return `SELECT * FROM delta_scan(${sqlString(path)}${version === undefined ? '' : `, version => ${version}`})`;
}

export interface DuckDbDelta {
  /** The rows of a table as a query gives them, each value as text; `null` for NULL. */
  rows(query: string): Promise<DeltaTable['rows']>;
  close(): void;
}

/**
 * DuckDB with its extension for Delta Lake, a second implementation that reads the tables in tests. The wheel that has the
 * extension is in the Python Package Index.
 */
export async function startDuckDbDelta(): Promise<DuckDbDelta> {
  const name = 'duckdb-extension-delta';
  const requirements = ['--no-deps', `${name}==${VERSION}`];
  const found = await findPythonPackage({ name, version: VERSION, requirements });
  if ('problem' in found) throw new Error(found.problem);
  const file = join(found.folder, `duckdb_extension_delta/extensions/v${VERSION}/delta.duckdb_extension`);
  const duckdb = await (await DuckDBInstance.create()).connect();
  await duckdb.run(`LOAD ${sqlString(file)}`);
  const select = async (sql: string) => (await duckdb.runAndReadAll(sql)).getRowObjects();
  return {
    async rows(query) {
      const columns = await select(`DESCRIBE ${query}`);
      const cells = columns.map(({ column_name, column_type }) => {
        const column = sqlName(String(column_name));
        // Independent of the session's time zone.
        const time = `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
        const text = column_type === 'TIMESTAMP WITH TIME ZONE' ? time : `CAST(${column} AS VARCHAR)`;
        return `${text} AS ${column}`;
      });
      return (await select(`SELECT ${cells.join(', ')} FROM (${query})`)) as DeltaTable['rows'][number][];
    },
    close: () => duckdb.closeSync(),
  };
}
