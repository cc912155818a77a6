import { fileURLToPath } from 'node:url';
import type { LakeSettings } from '../core/settings.js';
import { viewName } from '../core/view-name.js';
import { tableKeys } from '../lake/documents/lake-layout.js';
import type { TableColumn } from '../table/index.js';
import { s3Address } from './ddl/clickhouse.js';
import { aliasComments } from './ddl/column-kinds.js';
import { duckdbSetup } from './ddl/duckdb-views.js';
import { type Statement, statement } from './ddl/engine-views.js';
import { chName, chString, hiveName, hiveString, sqlName, sqlString } from './ddl/names-and-quotes.js';
import { sparkSetup } from './ddl/spark.js';
import { DIALECTS } from './ddl/statements.js';

interface TableToRegister {
  readonly lake: LakeSettings;
  readonly resource: string;
  /** Name that needs no quotes. */
  readonly name: string;
}

/** What differs between engines that read Delta tables. */
interface RegisterEngine {
  /** Where the engine reads tables, with its name. Default: in folders and on each S3 server. */
  readonly only?: { readonly engine: string; readonly store: 'S3' | 'Amazon S3' };
  /** Statements that an administrator or a session needs first. Default: none. */
  readonly setup?: (table: TableToRegister) => Statement[];
  /** `query`: reads the registered table. Default: by its name. */
  readonly register: (table: TableToRegister) => { readonly sql: string; readonly query?: string };
}

/** A name for objects of an account that belong to one lake, so that two lakes of an account do not share them. */
function lakeName({ url }: LakeSettings): string {
  return viewName(`worktrack-${url.replace(/^s3:\/\//, '')}`);
}

/** A macro, because DuckDB fixes the columns of a view: before 1.5, a new column makes every query of the view fail. */
const duckdb: RegisterEngine = {
  setup: ({ lake }) => [
    statement('setup', 'A session needs this once to read Delta tables:', 'INSTALL delta; LOAD delta'),
    ...duckdbSetup(lake),
  ],
  register: (table) => ({
    sql: `CREATE OR REPLACE MACRO ${sqlName(table.name)}() AS TABLE\nSELECT * FROM delta_scan(${sqlString(pathOf(table))})`,
    query: `SELECT * FROM ${table.name}()`,
  }),
};

const athena: RegisterEngine = {
  only: { engine: 'Athena', store: 'Amazon S3' },
  register: (table) => ({
    sql: `CREATE EXTERNAL TABLE IF NOT EXISTS ${hiveName(table.name)}\nLOCATION ${hiveString(urlOf(table))}\nTBLPROPERTIES ('table_type' = 'DELTA')`,
  }),
};

const trino: RegisterEngine = {
  only: { engine: 'Trino', store: 'S3' },
  setup: () => [
    statement(
      'setup',
      'Select a catalog of the Delta Lake connector, and a schema in it. To create a schema:',
      'CREATE SCHEMA IF NOT EXISTS worktrack',
    ),
  ],
  register: (table) => ({
    sql: `CALL system.register_table(\n  schema_name => current_schema,\n  table_name => ${sqlString(table.name)},\n  table_location => ${sqlString(urlOf(table))}\n)`,
  }),
};

const spark: RegisterEngine = {
  setup: ({ lake }) => sparkSetup(lake),
  register: (table) => ({
    sql: `CREATE TABLE IF NOT EXISTS ${hiveName(table.name)}\nUSING DELTA\nLOCATION ${hiveString(urlOf(table).replace(/^s3:/, 's3a:'))}`,
  }),
};

/**
 * A named collection, because ClickHouse fixes the columns of a table or view when it is created. Later columns would be
 * missing, and values of a column whose type changed would be NULL without an error (ClickHouse 26.9).
 */
const clickhouse: RegisterEngine = {
  register: (table) => {
    const isFolder = table.lake.url.startsWith('file:');
    const url = `${s3Address(table.lake)}/${tableKeys(table.resource).prefix}`;
    const options = isFolder
      ? [`path = ${chString(pathOf(table))}`]
      : // Credentials of the server's configuration do not apply to a named collection (ClickHouse 26.9).
        [`url = ${chString(url)}`, 'use_environment_credentials = 1'];
    return {
      sql: `CREATE NAMED COLLECTION IF NOT EXISTS ${chName(table.name)} AS\n  ${options.join(',\n  ')}`,
      query: `SELECT * FROM ${isFolder ? 'deltaLakeLocal' : 'deltaLake'}(${table.name})`,
    };
  },
};

const databricks: RegisterEngine = {
  only: { engine: 'Databricks', store: 'Amazon S3' },
  setup: ({ lake }) => [
    statement(
      'template',
      'Once, by an administrator of the metastore. Replace the name of the storage credential:',
      `CREATE EXTERNAL LOCATION IF NOT EXISTS ${lakeName(lake)}\nURL ${hiveString(lake.url)}\nWITH (STORAGE CREDENTIAL worktrack)`,
    ),
  ],
  register: (table) => ({
    sql: `CREATE TABLE IF NOT EXISTS ${hiveName(table.name)}\nUSING DELTA\nLOCATION ${hiveString(urlOf(table))}`,
  }),
};

const snowflake: RegisterEngine = {
  only: { engine: 'Snowflake', store: 'Amazon S3' },
  setup: ({ lake }) => [
    statement(
      'template',
      'Once, by an administrator of the account. Replace the ARN of the role:',
      `CREATE EXTERNAL VOLUME IF NOT EXISTS ${lakeName(lake)}\n  STORAGE_LOCATIONS = ((\n    NAME = 'worktrack'\n` +
        `    STORAGE_PROVIDER = 'S3'\n    STORAGE_BASE_URL = ${sqlString(`${lake.url}/`)}\n` +
        "    STORAGE_AWS_ROLE_ARN = 'arn:aws:iam::111122223333:role/worktrack-snowflake'\n  ))\n  ALLOW_WRITES = FALSE",
    ),
    statement(
      'template',
      [],
      'CREATE CATALOG INTEGRATION IF NOT EXISTS worktrack_delta\n  CATALOG_SOURCE = OBJECT_STORE\n' +
        '  TABLE_FORMAT = DELTA\n  ENABLED = TRUE',
    ),
  ],
  register: (table) => ({
    sql:
      `CREATE ICEBERG TABLE IF NOT EXISTS ${table.name}\n  EXTERNAL_VOLUME = '${lakeName(table.lake)}'\n  CATALOG = 'worktrack_delta'\n` +
      `  BASE_LOCATION = ${sqlString(tableKeys(table.resource).prefix)}\n  AUTO_REFRESH = TRUE`,
  }),
};

const bigquery: RegisterEngine = {
  only: { engine: 'BigQuery', store: 'Amazon S3' },
  register: (table) => ({
    sql:
      `CREATE EXTERNAL TABLE IF NOT EXISTS ${hiveName(`worktrack.${table.name}`)}\n` +
      `WITH CONNECTION ${hiveName(`aws-${table.lake.region ?? 'us-east-1'}.worktrack`)}\n` +
      `OPTIONS (\n  format = 'DELTA_LAKE',\n  uris = [${hiveString(urlOf(table))}]\n)`,
    query: `SELECT * FROM worktrack.${table.name}`,
  }),
};

/** A record over all dialects, so that a new one cannot be forgotten. */
const REGISTER: Readonly<Record<DeltaDialect, RegisterEngine>> = {
  ...{ duckdb, athena, trino, spark, clickhouse, databricks, snowflake, bigquery },
};

/** URL of a table's folder, without a slash at the end. */
function urlOf({ lake, resource }: TableToRegister): string {
  return `${lake.url}/${tableKeys(resource).prefix.replace(/\/$/, '')}`;
}

/** Path of a table in a folder, or its URL. */
function pathOf(table: TableToRegister): string {
  const url = urlOf(table);
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

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
export function registerStatements(input: RegisterInput): Statement[] {
  const { dialect, lake, resource, table = resource, columns } = input;
  const { only, setup, register } = REGISTER[dialect];
  if (only !== undefined && !lake.url.startsWith('s3://'))
    throw new RangeError(
      `${only.engine} reads tables only from S3, and the lake is ${lake.url}. Use the dialect duckdb, spark or clickhouse`,
    );
  if (only?.store === 'Amazon S3' && lake.endpoint !== undefined)
    throw new RangeError(
      `${only.engine} reads tables only from Amazon S3, and the lake is at ${lake.endpoint}. Use another dialect`,
    );
  const registered: TableToRegister = { lake, resource, name: viewName(table) };
  const { sql, query = `SELECT * FROM ${registered.name}` } = register(registered);
  const about = [
    `${resource}: the Delta table, registered once. Query it with: ${query}`,
    ...aliasComments(columns),
  ];
  return [...(setup?.(registered) ?? []), statement('define', about, sql)];
}
