import { plainLower } from './aliases.js';
import type { TableColumn, TypedKind } from './kinds.js';
import { hiveName, hiveString, sqlName, sqlString } from './quote.js';
import type { Engine, Statement, TableSource } from './table.js';
import { textAbout } from './views.js';

/** Statements for Athena: external tables with text columns in Hive's syntax, and views in Trino's syntax. */
export const athena: Engine = {
  aliases: { toName: plainLower, reserved: ['dt', 'run'] },
  name: sqlName,
  string: sqlString,
  createView: 'CREATE OR REPLACE VIEW',
  nulls: 'lost',
  cast,
  text,
};

/** @throws RangeError if the lake is not in S3 */
function text(source: TableSource, columns: readonly TableColumn[]): Statement[] {
  if (!source.lake.url.startsWith('s3://')) {
    throw new RangeError(
      `Athena reads only from S3, and the lake is ${source.lake.url}. Use the dialect duckdb`,
    );
  }
  const { name, csv, shape } = source;
  const table = `${name}_text`;
  const statements: Statement[] = [
    {
      kind: 'define',
      about: ['Drops only the table definition; the files are kept.'],
      sql: `DROP TABLE IF EXISTS ${hiveName(table)}`,
    },
    {
      kind: 'define',
      about: [...textAbout(source, athena, columns), ...warnings(source)],
      sql: [
        `CREATE EXTERNAL TABLE ${hiveName(table)} (`,
        columns.map(({ alias }) => `  ${hiveName(alias)} string`).join(',\n'),
        ')',
        ...(shape === 'log' ? ['PARTITIONED BY (`dt` string, `run` string)'] : []),
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
        // With the default escape character, a backslash, backslashes in values would be lost. Quotes are doubled instead.
        `WITH SERDEPROPERTIES ('separatorChar' = ${hiveString(csv.delimiter)}, 'quoteChar' = '"', 'escapeChar' = ${hiveString('\u0001')})`,
        'STORED AS TEXTFILE',
        `LOCATION ${hiveString(`${source.lake.url}/${source.folder}/`)}`,
        "TBLPROPERTIES ('skip.header.line.count' = '1')",
      ].join('\n'),
    },
  ];
  if (shape === 'log') {
    const text = 'Run this after every export. It adds the new partitions.';
    statements.push({ kind: 'define', about: [text], sql: `MSCK REPAIR TABLE ${hiveName(table)}` });
  }
  return statements;
}

function warnings({ csv }: TableSource): string[] {
  const always =
    'OpenCSVSerDe does not distinguish an empty string from a null. The view returns NULL for both.';
  if (csv.lineBreaks === 'escape') return [always];
  return [
    always,
    'OpenCSVSerDe cannot read line breaks inside values. If there are any, set `csv: { lineBreaks: escape }`.',
  ];
}

function cast(text: string, kind: TypedKind): string {
  switch (kind.type) {
    case 'time':
      // Athena rejects views with a zone in a column, and an unwrapped error would fail every query.
      return kind.digits === 3
        ? `TRY(CAST(at_timezone(from_iso8601_timestamp(${text}), 'UTC') AS timestamp(3)))`
        : text;
    case 'decimal':
      return `TRY_CAST(${text} AS decimal(${kind.precision}, ${kind.scale}))`;
    default:
      return `TRY_CAST(${text} AS ${TYPES[kind.type]})`;
  }
}

const TYPES = {
  boolean: 'boolean',
  int64: 'bigint',
  int128: 'decimal(38, 0)',
  double: 'double',
  date: 'date',
};
