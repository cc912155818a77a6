import { columnAliases, plainLower } from './aliases.js';
import { renamed, type TableColumn, tableColumns } from './kinds.js';
import { hiveName, hiveString, sqlName } from './quote.js';
import { numberText, type Statement, type TableSource } from './table.js';

/**
 * Athena: an external table of texts and a view with types. The table is made in Hive's dialect, the view in Trino's.
 *
 * @throws RangeError for a lake that is not in S3
 */
export function athenaTable(source: TableSource): Statement[] {
  if (!source.lake.url.startsWith('s3://')) {
    throw new RangeError(
      `Athena reads from S3 only, and the lake is ${source.lake.url}; use the dialect duckdb`,
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
      about: ['Drops the definition only: the files stay.'],
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
        // Its own escape, a backslash, would eat those in values; quotes are doubled, which needs none.
        `WITH SERDEPROPERTIES ('separatorChar' = ${hiveString(csv.delimiter)}, 'quoteChar' = '"', 'escapeChar' = ${hiveString('\u0001')})`,
        'STORED AS TEXTFILE',
        `LOCATION ${hiveString(`${source.lake.url}/${source.folder}/`)}`,
        "TBLPROPERTIES ('skip.header.line.count' = '1')",
      ].join('\n'),
    },
  ];
  if (shape === 'tree') {
    const text = 'To be run after every export: it takes up the new partitions.';
    statements.push({ kind: 'define', about: [text], sql: `MSCK REPAIR TABLE ${hiveName(table)}` });
  }
  const partitions = shape === 'tree' ? ['  "dt"', '  "run"'] : [];
  const casts = [
    ...columns.map((column) => `  ${typed(column, source)} AS ${sqlName(column.alias)}`),
    ...partitions,
  ];
  statements.push({
    kind: 'define',
    about: [`${about}, with the types that were seen. A value that does not fit its type is NULL here.`],
    sql: `CREATE OR REPLACE VIEW ${sqlName(name)} AS\nSELECT\n${casts.join(',\n')}\nFROM ${sqlName(table)}`,
  });
  return statements;
}

function warnings({ csv }: TableSource): string[] {
  const always = 'OpenCSVSerDe does not tell an empty text from a null: the view makes both NULL.';
  if (csv.lineBreaks === 'escape') return [always];
  return [
    always,
    'OpenCSVSerDe cannot read line breaks inside values: set `csv: { lineBreaks: escape }` if there are any.',
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
