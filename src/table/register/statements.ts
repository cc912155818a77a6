import type { LakeSettings } from '../../core/settings.js';
import { DIALECTS } from '../../lake/ddl/ddl.js';
import { renamed } from '../../lake/ddl/kinds.js';
import { viewName } from '../../lake/ddl/quote.js';
import type { Statement } from '../../lake/ddl/table.js';
import type { TableColumn } from '../rules/columns.js';
import { REGISTER, type TableToRegister } from './engines.js';

/** Engines for whose Delta reader statements can be printed: those of the CSV files, and engines that read only tables. */
export const DELTA_DIALECTS = [...DIALECTS, 'databricks', 'snowflake', 'bigquery'] as const;
export type DeltaDialect = (typeof DELTA_DIALECTS)[number];

export interface RegisterInput {
  readonly dialect: DeltaDialect;
  readonly lake: LakeSettings;
  readonly resource: string;
  /** Name of the table, before it is made plain. Default: the resource. */
  readonly table?: string | undefined;
  /** Columns of the table, as `readTableColumns` returns them. */
  readonly columns: readonly Pick<TableColumn, 'name' | 'alias'>[];
}

/**
 * The statement that registers the Delta table of a resource in a query engine, and what a session or account needs first.
 * It names neither a run nor a column, so it is run once (docs/how-to/delta-tables.md).
 *
 * @throws RangeError if the engine cannot read the lake
 * @example
 * const columns = await readTableColumns(store, 'tasks');
 * const statements = registerStatements({ dialect: 'duckdb', lake, resource: 'tasks', columns });
 */
export function registerStatements({
  dialect,
  lake,
  resource,
  table = resource,
  columns,
}: RegisterInput): Statement[] {
  const engine = REGISTER[dialect];
  if (engine.onlyS3 !== undefined && !lake.url.startsWith('s3://'))
    throw new RangeError(
      `${engine.onlyS3} reads tables only from S3, and the lake is ${lake.url}. Use the dialect duckdb, spark or clickhouse`,
    );
  if (engine.onlyAws !== undefined && lake.endpoint !== undefined)
    throw new RangeError(
      `${engine.onlyAws} reads tables only from Amazon S3, and the lake is at ${lake.endpoint}. Use another dialect`,
    );
  const registered: TableToRegister = { lake, resource, name: viewName(table) };
  const { sql, query } = engine.register(registered);
  const about = [
    `${resource}: the Delta table, registered once. Query it with: ${query}`,
    ...renamed(columns),
  ];
  return [...engine.setup(registered), { kind: 'define', about, sql }];
}
