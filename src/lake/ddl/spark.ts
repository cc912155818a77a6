import { printable } from './aliases.js';
import type { TableColumn, TypedKind } from './kinds.js';
import { hiveName, hiveString } from './quote.js';
import type { Engine, TableSource } from './table.js';
import { textAbout } from './views.js';

/** The text that Spark reads as null. With Spark's default, '', a quoted empty string would also become null. */
const NULL_TEXT = '\u0001worktrack-null\u0001';

/** Statements for Spark 3.2 or later. The views are temporary: they last for one session. */
export const spark: Engine = {
  aliases: { toName: printable, reserved: ['dt', 'run'] },
  name: hiveName,
  string: hiveString,
  createView: 'CREATE OR REPLACE TEMPORARY VIEW',
  nulls: 'kept',
  cast,
  text,
};

function text(source: TableSource, columns: readonly TableColumn[]): ReturnType<Engine['text']> {
  const { name, csv, shape, lake, folder } = source;
  const partitions = shape === 'log' ? ['dt', 'run'] : [];
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
    ['mode', shape === 'log' ? 'PERMISSIVE' : 'FAILFAST'],
  ];
  const names = [...columns.map(({ alias }) => alias), ...partitions];
  return [
    {
      kind: 'define',
      about: textAbout(source, spark, columns),
      sql:
        `CREATE OR REPLACE TEMPORARY VIEW ${hiveName(`${name}_text`)} (\n` +
        `${names.map((one) => `  ${hiveName(one)} STRING`).join(',\n')}\n)\nUSING csv\nOPTIONS (\n` +
        `${options.map(([key, value]) => `  ${key} ${hiveString(value)}`).join(',\n')}\n)`,
    },
  ];
}

function cast(text: string, kind: TypedKind): string {
  const type = kind.type === 'decimal' ? `DECIMAL(${kind.precision}, ${kind.scale})` : TYPES[kind.type];
  return `TRY_CAST(${text} AS ${type})`;
}

const TYPES = {
  boolean: 'BOOLEAN',
  int64: 'BIGINT',
  int128: 'DECIMAL(38, 0)',
  double: 'DOUBLE',
  date: 'DATE',
  time: 'TIMESTAMP',
};
