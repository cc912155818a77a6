import { fileURLToPath } from 'node:url';
import type { LakeSettings } from '../../core/settings.js';
import { MANIFEST, PART_FORM } from '../../lake/documents/lake-layout.js';
import { withoutControls } from '../../lake/rows/column-aliases.js';
import type { TypedKind, ViewColumn } from './column-kinds.js';
import {
  type Engine,
  failingCase,
  misfitCounts,
  SESSION_SETUP,
  type Statement,
  statement,
  type TableSource,
  tryCast,
} from './engine-views.js';
import { sqlName, sqlString } from './names-and-quotes.js';

/** Longest row that DuckDB accepts, in bytes. Its default of 2 MB is too small for a long description. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Statements for DuckDB 1.2 or later. Format detection is off, because delimiter, columns and nulls are known. */
export const duckdb: Engine = {
  aliases: { toName: withoutControls, reserved: [] },
  name: sqlName,
  string: sqlString,
  createView: 'CREATE OR REPLACE VIEW',
  nulls: 'kept',
  cast,
  matches: (text, pattern) => `regexp_full_match(${text}, ${sqlString(pattern)})`,
  orFail: (exact) => failingCase(exact, `error(${sqlString(exact.message)})`),
  times: 'all',
  text: (source, columns) => ({ before: lookUpParts(source), query: selectText(source, columns) }),
  check(source, columns) {
    const counts = misfitCounts(duckdb, source, columns).map(({ count }) => count);
    const sql = `SELECT\n  ${counts.join(',\n  ')}\nFROM ${sqlName(`${source.name}_text`)}`;
    return [statement('check', 'Number of values that do not fit their type, by column:', sql)];
  },
};

/** Options of DuckDB's secret for a lake in S3. */
export function s3Secret({ url, region, endpoint, forcePathStyle }: LakeSettings): Record<string, string> {
  const { host, protocol }: Partial<URL> = endpoint === undefined ? {} : new URL(endpoint);
  return {
    ...{ type: 's3', provider: 'credential_chain' },
    ...(region === undefined ? {} : { region }),
    ...(host === undefined ? {} : { endpoint: host, use_ssl: String(protocol === 'https:') }),
    ...(forcePathStyle === true ? { url_style: 'path' } : {}),
    scope: url,
  };
}

const UNQUOTED = ['type', 'provider', 'use_ssl'];

/** Extensions and secret that DuckDB needs for an `s3://` lake; none for a folder. */
export function duckdbSetup(lake: LakeSettings): Statement[] {
  if (!lake.url.startsWith('s3://')) return [];
  const options = Object.entries(s3Secret(lake)).map(
    ([option, value]) => `${option.toUpperCase()} ${UNQUOTED.includes(option) ? value : sqlString(value)}`,
  );
  const secret = (kind: string, more: readonly string[] = []): string =>
    `CREATE OR REPLACE ${kind} worktrack (\n  ${[...options, ...more].join(',\n  ')}\n)`;
  return [
    statement('setup', SESSION_SETUP, 'INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws'),
    statement(
      'setup',
      "Uses the credentials that AWS tools find. For other credentials, replace PROVIDER with KEY_ID '…', SECRET '…'.",
      secret('SECRET'),
    ),
    statement(
      'template',
      'Or, for all later sessions of this user, too. DuckDB stores it without encryption under ~/.duckdb/stored_secrets:',
      secret('PERSISTENT SECRET', ['REFRESH auto']),
    ),
  ];
}

/** A query for the rows of a run's folder or of the published change logs, every column as text. */
export function selectText(source: TableSource, columns: readonly ViewColumn[]): string {
  const conditions = [...partsOnly(source), ...publishedOnly(source)];
  const where = conditions.length === 0 ? '' : `\nWHERE ${conditions.join('\n  AND ')}`;
  return `SELECT ${isListed(source) ? '*' : withoutFile(columns)} FROM ${readCsv(source, columns)}${where}`;
}

/** DuckDB's column for the path of a file. Before 2.0, only a condition on a column of this name skips files unread. */
const FILE = 'filename';
/** Name of a field that is named as this column, while the file is read. No alias has this name. */
const FIELD = '_worktrack_file';

function isNamedFile({ alias }: ViewColumn): boolean {
  return alias.toLowerCase() === FILE;
}

function withoutFile(columns: readonly ViewColumn[]): string {
  const field = columns.find(isNamedFile);
  const rename = field === undefined ? '' : ` RENAME (${sqlName(FIELD)} AS ${sqlName(field.alias)})`;
  return `* EXCLUDE (${FILE})${rename}`;
}

function readCsv(source: TableSource, columns: readonly ViewColumn[]): string {
  const { shape, csv } = source;
  const names = columns.map((column) => (isNamedFile(column) && !isListed(source) ? FIELD : column.alias));
  const options = [
    'auto_detect = false',
    // Otherwise `dt` and `run` of the path become columns and replace fields of the same name.
    'hive_partitioning = false',
    ...(isListed(source) ? [] : [`${FILE} = true`]),
    'header = true',
    `delim = ${sqlString(csv.delimiter)}`,
    `quote = '"'`,
    `escape = '"'`,
    String.raw`new_line = '\n'`,
    `compression = ${sqlString(shape === 'log' ? 'auto' : csv.compression)}`,
    `nullstr = ''`,
    'allow_quoted_nulls = false',
    `max_line_size = ${MAX_LINE_BYTES}`,
    // The default is sixteen times the longest line, so 1 GiB.
    `buffer_size = ${MAX_LINE_BYTES}`,
    // Rows of older change logs have fewer cells. DuckDB pads them only when it reads with one thread. Rows of later ones
    // may have more, which only the mode that is not strict leaves out.
    ...(shape === 'log' ? ['null_padding = true', 'parallel = false', 'strict_mode = false'] : []),
    // A later run may have more columns. DuckDB reads a compressed file with one thread anyway.
    ...(source.isCurrent && csv.compression === 'gzip' ? ['strict_mode = false'] : []),
    `columns = {\n${names.map((name) => `    ${sqlString(name)}: 'VARCHAR'`).join(',\n')}\n  }`,
  ];
  return `read_csv(\n  ${[filesOf(source), ...options].join(',\n  ')}\n)`;
}

function isListed({ files, parts }: TableSource): boolean {
  return files !== undefined || parts !== undefined;
}

function filesOf(source: TableSource): string {
  const { lake, folder, files, parts, shape } = source;
  const folders = shape === 'log' ? `${pathIn(lake, folder)}/dt=*/run=*` : pathIn(lake, folder);
  // The names are checked by `partsOnly`: no glob of DuckDB is as exact.
  // DuckDB 1.2 takes what follows a question mark in the URL of S3 for its parameters.
  const found = [`${folders}/part-*.csv*`];
  const listed = files?.map(withoutGlob) ?? parts?.map((key) => pathIn(lake, key)) ?? found;
  const list = `[${listed.map(sqlString).join(', ')}]`;
  return source.isCurrent ? `coalesce(getvariable(${sqlString(variableOf(source))}), ${list})` : list;
}

/** The variable of a session with the parts of the last published run. Names of views are unique. */
function variableOf({ name }: TableSource): string {
  return `worktrack_${name}`;
}

/** Sets the variable: first to the folder in `latest.json`, then to the parts in the manifest there. */
function lookUpParts(source: TableSource): Statement[] {
  if (source.isCurrent !== true) return [];
  const { lake, pointer } = source;
  const name = variableOf(source);
  const folder = `concat(${sqlString(pathIn(lake, ''))}, getvariable(${sqlString(name)}), '/`;
  const about = 'The parts of the last published run. Each session that runs this script looks them up:';
  return [
    statement(
      'define',
      about,
      `SET VARIABLE ${name} = (\n  SELECT regexp_replace("snapshot", '/[^/]*$', '')\n` +
        `  FROM read_json(${sqlString(pathIn(lake, pointer))}, columns = {snapshot: 'VARCHAR'})\n)`,
    ),
    statement(
      'define',
      [],
      `SET VARIABLE ${name} = (\n  SELECT list(${folder}', part.path)) FROM (\n    SELECT unnest(resources) AS part\n` +
        `    FROM read_json(${folder}${MANIFEST}'), columns = {resources: 'STRUCT(path VARCHAR)[]'}, ` +
        `maximum_object_size = ${MAX_LINE_BYTES})\n  )\n)`,
    ),
  ];
}

/** DuckDB skips files that do not fulfil this condition before it reads them. */
function partsOnly(source: TableSource): string[] {
  return isListed(source) ? [] : [`regexp_matches(${FILE}, ${sqlString(`/${PART_FORM}$`)})`];
}

/** Excludes the change log of a run in progress, which is written before publication: its run id is later than the pointer's. */
function publishedOnly({ lake, pointer, shape, files }: TableSource): string[] {
  if (shape === 'run' || files !== undefined) return [];
  const latest = sqlString(pathIn(lake, pointer));
  return [`"_run_id"[:16] <= (SELECT "runId"[:16] FROM read_json(${latest}, columns = {runId: 'VARCHAR'}))`];
}

/** Path of a key, with glob characters in brackets. */
export function pathIn({ url }: LakeSettings, key: string): string {
  const root = url.startsWith('file:') ? fileURLToPath(url) : url;
  return withoutGlob(`${root}/${key}`);
}

function withoutGlob(path: string): string {
  return path.replace(/[*?[]/g, '[$&]');
}

const TYPES = {
  boolean: 'BOOLEAN',
  int64: 'BIGINT',
  int128: 'HUGEINT',
  decimal: 'DECIMAL',
  double: 'DOUBLE',
  date: 'DATE',
  time: 'TIMESTAMPTZ',
};

function cast(text: string, kind: TypedKind): string {
  const value = tryCast(TYPES)(text, kind);
  // A cast to TIMESTAMP ignores the zone (DuckDB 1.5).
  return kind.type === 'time' ? `make_timestamp(epoch_us(${value}))` : value;
}
