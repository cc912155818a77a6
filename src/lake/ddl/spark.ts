import { columnAliases, printable } from './aliases.js';
import { renamed, type TableColumn, tableColumns } from './kinds.js';
import { hiveName, hiveString } from './quote.js';
import type { Statement, TableSource } from './table.js';

/** The text that Spark reads as null. With Spark's default, '', a quoted empty string would also become null. */
const NULL_TEXT = '\u0001worktrack-null\u0001';

/** Statements for Spark 3.2 or later. The views are temporary: they last for one session. */
export function sparkTable(source: TableSource): Statement[] {
  const { name, about, csv, shape, lake, folder, runId } = source;
  const columns = tableColumns(source.columns, source.masked, (names) =>
    columnAliases(names, { toName: printable, reserved: ['dt', 'run'] }),
  );
  const partitions = shape === 'tree' ? ['dt', 'run'] : [];
  // Hadoop's scheme for S3 is s3a. Glob characters are escaped.
  const path = `${lake.url.replace(/^s3:/, 's3a:')}/${folder}`.replace(/[*?[\]{}\\]/g, '\\$&');
  const options: [string, string][] = [
    ['path', path],
    ['header', 'true'],
    ['enforceSchema', 'true'],
    ['sep', csv.delimiter],
    ['quote', '"'],
    ['escape', '"'],
    ['multiLine', 'true'],
    ['encoding', 'UTF-8'],
    ['nullValue', NULL_TEXT],
    ['emptyValue', ''],
    ['maxCharsPerColumn', '-1'],
    ['maxColumns', String(Math.max(20_480, columns.length + 1))],
    // Rows of older change logs have fewer cells.
    ['mode', shape === 'tree' ? 'PERMISSIVE' : 'FAILFAST'],
  ];
  const names = [...columns.map(({ alias }) => alias), ...partitions];
  const casts = [
    ...columns.map((column) => typed(column, source)),
    ...partitions.map((one) => `  ${hiveName(one)}`),
  ];
  const published =
    shape === 'tree'
      ? `\nWHERE substr(${hiveName('_run_id')}, 1, 16) <= ${hiveString(runId.slice(0, 16))}`
      : '';
  return [
    {
      kind: 'define',
      about: [`${about}, every column as text. A null is NULL, an empty string is ''.`, ...renamed(columns)],
      sql:
        `CREATE OR REPLACE TEMPORARY VIEW ${hiveName(`${name}_text`)} (\n` +
        `${names.map((one) => `  ${hiveName(one)} STRING`).join(',\n')}\n)\nUSING csv\nOPTIONS (\n` +
        `${options.map(([key, value]) => `  ${key} ${hiveString(value)}`).join(',\n')}\n)`,
    },
    {
      kind: 'define',
      about: [`${about}, with the types seen so far. A value that does not fit its type is NULL.`],
      sql:
        `CREATE OR REPLACE TEMPORARY VIEW ${hiveName(name)} AS\nSELECT\n${casts.join(',\n')}\n` +
        `FROM ${hiveName(`${name}_text`)}${published}`,
    },
  ];
}

function typed({ alias, kind }: TableColumn, { csv, integers }: TableSource): string {
  const name = hiveName(alias);
  const number = csv.escapeFormulas ? `replace(${name}, '\\'', '')` : name;
  switch (kind) {
    case 'integer':
      return `  TRY_CAST(${number} AS ${integers === 'wide' ? 'DECIMAL(38, 0)' : 'BIGINT'}) AS ${name}`;
    case 'number':
      return `  TRY_CAST(${number} AS DOUBLE) AS ${name}`;
    case 'boolean':
      return `  TRY_CAST(${name} AS BOOLEAN) AS ${name}`;
    case 'time':
      return `  TRY_CAST(${name} AS TIMESTAMP) AS ${name}`;
    case 'text':
      return `  ${name}`;
  }
}
