import type { LakeSettings } from '../../core/settings.js';
import type { TableColumn, TypedKind } from './column-kinds.js';
import type { Engine, Statement, TableSource } from './engine.js';
import { failingCase } from './engine.js';
import { hiveName, hiveString, printable } from './names-and-quotes.js';
import { textAbout } from './text-and-typed-views.js';

/** The text that Spark reads as null. With Spark's default, '', a quoted empty string would also become null. */
const NULL_TEXT = '\u0001worktrack-null\u0001';

const PARTITIONS = ['dt', 'run'];

/** Statements for Spark 3.2 or later. The views are temporary: they last for one session. */
export const spark: Engine = {
  aliases: { toName: printable, reserved: PARTITIONS },
  name: hiveName,
  string: hiveString,
  createView: 'CREATE OR REPLACE TEMPORARY VIEW',
  nulls: 'kept',
  partitions: PARTITIONS,
  cast,
  matches: (text, pattern) => `${text} RLIKE ${hiveString(`^(${pattern})$`)}`,
  orFail: (exact) => failingCase(exact, `raise_error(${hiveString(exact.message)})`),
  times: 'all',
  text,
};

/** Settings of Spark's S3 client for a lake in S3, as statements. Credentials come from the environment or a role. */
export function sparkSetup({ url, region, endpoint, forcePathStyle }: LakeSettings): Statement[] {
  if (!url.startsWith('s3://')) return [];
  const settings = {
    ...(endpoint === undefined
      ? {}
      : { endpoint, 'connection.ssl.enabled': String(endpoint.startsWith('https:')) }),
    ...(region === undefined ? {} : { 'endpoint.region': region }),
    ...(forcePathStyle === true ? { 'path.style.access': 'true' } : {}),
  };
  return Object.entries(settings).map(([name, value], at) => ({
    kind: 'setup',
    about:
      at === 0
        ? [
            'A session needs this once to read from S3. With `worktrack ddl --setup`, these statements are ready to run:',
          ]
        : [],
    sql: `SET fs.s3a.${name} = ${value}`,
  }));
}

function text(source: TableSource, columns: readonly TableColumn[]): ReturnType<Engine['text']> {
  const { name, csv, shape, lake, folder } = source;
  const partitions = shape === 'log' ? PARTITIONS : [];
  const options: [string, string][] = [
    ['path', pathIn(lake, folder)],
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
  const textView = hiveName(`${name}_text`);
  if (shape === 'run') {
    return [
      {
        kind: 'define',
        about: textAbout(source, spark, columns),
        sql: fileView(textView, names, 'csv', options),
      },
    ];
  }
  const files = hiveName(`${name}_files`);
  const latest = hiveName(`${name}_latest`);
  const pointer: [string, string][] = [
    ['path', pathIn(lake, source.pointer)],
    ['multiLine', 'true'],
  ];
  return [
    {
      kind: 'define',
      about: [
        'The last published run, and the files of all change logs, also of runs that are not published.',
      ],
      sql: fileView(latest, ['runId'], 'json', pointer),
    },
    { kind: 'define', about: [], sql: fileView(files, names, 'csv', options) },
    {
      kind: 'define',
      about: textAbout(source, spark, columns),
      sql:
        `CREATE OR REPLACE TEMPORARY VIEW ${textView} AS\nSELECT * FROM ${files}\n` +
        `WHERE substr(\`_run_id\`, 1, 16) <= (SELECT max(substr(\`runId\`, 1, 16)) FROM ${latest})`,
    },
  ];
}

/** A view of files whose columns are text. */
function fileView(
  view: string,
  columns: readonly string[],
  format: 'csv' | 'json',
  options: readonly [string, string][],
): string {
  return (
    `CREATE OR REPLACE TEMPORARY VIEW ${view} (\n` +
    `${columns.map((one) => `  ${hiveName(one)} STRING`).join(',\n')}\n)\nUSING ${format}\nOPTIONS (\n` +
    `${options.map(([key, value]) => `  ${key} ${hiveString(value)}`).join(',\n')}\n)`
  );
}

/** Path of a key. Hadoop's scheme for S3 is s3a. Glob characters are escaped. */
function pathIn({ url }: LakeSettings, key: string): string {
  return `${url.replace(/^s3:/, 's3a:')}/${key}`.replace(/[*?[\]{}\\]/g, '\\$&');
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
