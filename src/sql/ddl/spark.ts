import type { LakeSettings } from '../../core/settings.js';
import { withoutControls } from '../../lake/rows/column-aliases.js';
import type { ViewColumn } from './column-kinds.js';
import {
  type Engine,
  failingCase,
  SESSION_SETUP,
  type Statement,
  statement,
  type TableSource,
  textAbout,
  tryCast,
} from './engine-views.js';
import { hiveName, hiveString } from './names-and-quotes.js';

/** The text that Spark reads as null. With Spark's default, '', a quoted empty string would also become null. */
const NULL_TEXT = '\u0001worktrack-null\u0001';

const PARTITIONS = ['dt', 'run'];

const HEX = '[0-9a-f]'.repeat(8);
/** The names of parts. Hadoop's globs have alternatives, but no repetition. Spark does not list other files. */
const PARTS = `part-${'[0-9]'.repeat(5)}-{${HEX},${HEX}${HEX}}.{csv,csv.gz}`;

/** Statements for Spark 3.2 or later. The views are temporary: they last for one session. */
export const spark: Engine = {
  aliases: { toName: withoutControls, reserved: PARTITIONS },
  name: hiveName,
  string: hiveString,
  createView: 'CREATE OR REPLACE TEMPORARY VIEW',
  nulls: 'kept',
  partitions: PARTITIONS,
  cast: tryCast({
    boolean: 'BOOLEAN',
    int64: 'BIGINT',
    int128: 'DECIMAL(38, 0)',
    decimal: 'DECIMAL',
    double: 'DOUBLE',
    date: 'DATE',
    time: 'TIMESTAMP',
  }),
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
  return Object.entries(settings).map(([name, value], at) =>
    statement('setup', at === 0 ? SESSION_SETUP : [], `SET fs.s3a.${name} = ${value}`),
  );
}

function text(source: TableSource, columns: readonly ViewColumn[]): ReturnType<Engine['text']> {
  const { name, csv, shape, lake, folder } = source;
  const partitions = shape === 'log' ? PARTITIONS : [];
  const options: [string, string][] = [
    ['path', pathIn(lake, folder)],
    ['pathGlobFilter', PARTS],
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
  if (shape === 'run') {
    const about = textAbout(source, spark, columns);
    return { before: [fileView(about, `${name}_text`, names, 'csv', options)], query: null };
  }
  const pointer: [string, string][] = [
    ['path', pathIn(lake, source.pointer)],
    ['multiLine', 'true'],
  ];
  const latest = hiveName(`${name}_latest`);
  const query =
    `SELECT * FROM ${hiveName(`${name}_files`)}\n` +
    `WHERE substr(\`_run_id\`, 1, 16) <= (SELECT max(substr(\`runId\`, 1, 16)) FROM ${latest})`;
  const about =
    'The last published run, and the files of all change logs, also of runs that are not published.';
  const before = [
    fileView(about, `${name}_latest`, ['runId'], 'json', pointer),
    fileView([], `${name}_files`, names, 'csv', options),
  ];
  return { before, query };
}

/** A view of files whose columns are text. */
function fileView(
  about: string | readonly string[],
  view: string,
  columns: readonly string[],
  format: 'csv' | 'json',
  options: readonly [string, string][],
): Statement {
  return statement(
    'define',
    about,
    `CREATE OR REPLACE TEMPORARY VIEW ${hiveName(view)} (\n` +
      `${columns.map((one) => `  ${hiveName(one)} STRING`).join(',\n')}\n)\nUSING ${format}\nOPTIONS (\n` +
      `${options.map(([key, value]) => `  ${key} ${hiveString(value)}`).join(',\n')}\n)`,
  );
}

/** Path of a key. Hadoop's scheme for S3 is s3a. Glob characters are escaped. */
function pathIn({ url }: LakeSettings, key: string): string {
  return `${url.replace(/^s3:/, 's3a:')}/${key}`.replace(/[*?[\]{}\\]/g, '\\$&');
}
