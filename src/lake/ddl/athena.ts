import { columnAliases, plainLower } from './aliases.js';
import { renamed, type TableColumn, tableColumns } from './kinds.js';
import { hiveName, hiveString, sqlName } from './quote.js';
import { numberText, type Statement, type TableSource } from './table.js';

/**
 * Statements for Athena: an external table with text columns and a typed view. The table uses Hive syntax, the view
 * Trino syntax.
 *
 * @throws RangeError if the lake is not in S3
 */
export function athenaTable(source: TableSource): Statement[] {
  if (!source.lake.url.startsWith('s3://')) {
    throw new RangeError(
      `Athena reads only from S3, and the lake is ${source.lake.url}. Use the dialect duckdb`,
    );
  }
  const { name, about, csv, shape } = source;
  const columns = tableColumns(source.columns, source.masked, (names) =>
    columnAliases(names, { toName: plainLower, reserved: ['dt', 'run'] }),
  );
  const table = `${name}_text`;
  const statements: Statement[] = [
    {
      kind: 'define',
      about: ['Drops only the table definition; the files are kept.'],
      sql: `DROP TABLE IF EXISTS ${hiveName(table)}`,
    },
    {
      kind: 'define',
      about: [`${about}, every column as text.`, ...warnings(source), ...renamed(columns)],
      sql: [
        `CREATE EXTERNAL TABLE ${hiveName(table)} (`,
        columns.map(({ alias }) => `  ${hiveName(alias)} string`).join(',\n'),
        ')',
        ...(shape === 'tree' ? ['PARTITIONED BY (`dt` string, `run` string)'] : []),
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
        // With the default escape character, a backslash, backslashes in values would be lost. Quotes are doubled instead.
        `WITH SERDEPROPERTIES ('separatorChar' = ${hiveString(csv.delimiter)}, 'quoteChar' = '"', 'escapeChar' = ${hiveString('\u0001')})`,
        'STORED AS TEXTFILE',
        `LOCATION ${hiveString(`${source.lake.url}/${source.folder}/`)}`,
        "TBLPROPERTIES ('skip.header.line.count' = '1')",
      ].join('\n'),
    },
  ];
  if (shape === 'tree') {
    const text = 'Run this after every export. It adds the new partitions.';
    statements.push({ kind: 'define', about: [text], sql: `MSCK REPAIR TABLE ${hiveName(table)}` });
  }
  const partitions = shape === 'tree' ? ['  "dt"', '  "run"'] : [];
  const casts = [
    ...columns.map((column) => `  ${typed(column, source)} AS ${sqlName(column.alias)}`),
    ...partitions,
  ];
  statements.push({
    kind: 'define',
    about: [`${about}, with the types seen so far. A value that does not fit its type is NULL.`],
    sql: `CREATE OR REPLACE VIEW ${sqlName(name)} AS\nSELECT\n${casts.join(',\n')}\nFROM ${sqlName(table)}`,
  });
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

function typed({ alias, kind }: TableColumn, { csv, integers }: TableSource): string {
  const text = `NULLIF(${sqlName(alias)}, '')`;
  switch (kind) {
    case 'integer':
      return `TRY_CAST(${numberText(text, csv)} AS ${integers === 'wide' ? 'decimal(38, 0)' : 'bigint'})`;
    case 'number':
      return `TRY_CAST(${numberText(text, csv)} AS double)`;
    case 'boolean':
      return `TRY_CAST(${text} AS boolean)`;
    case 'time':
      return `from_iso8601_timestamp(${text})`;
    case 'text':
      return text;
  }
}
