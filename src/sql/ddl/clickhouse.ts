import { fileURLToPath } from 'node:url';
import { awsHost } from '../../core/proxy.js';
import type { LakeSettings } from '../../core/settings.js';
import { nameOf, PART_FORM } from '../../lake/documents/lake-layout.js';
import { withoutControls } from '../../lake/rows/column-aliases.js';
import type { TypedKind, ViewColumn } from './column-kinds.js';
import type { Engine, TableSource } from './engine-views.js';
import { chName, chString } from './names-and-quotes.js';

/** Statements for ClickHouse 24.8 or later, including clickhouse-local and chDB. */
export const clickhouse: Engine = {
  aliases: { toName: withoutControls, reserved: ['_file'] },
  name: chName,
  string: chString,
  createView: 'CREATE OR REPLACE VIEW',
  nulls: 'kept',
  cast,
  matches: (text, pattern) => `match(${text}, ${chString(`^(${pattern})$`)})`,
  // ClickHouse can evaluate both branches of a condition, so the failure has its own condition.
  orFail: ({ text, value, fits, message }) =>
    `if(throwIf(ifNull(${text} IS NOT NULL AND NOT ${fits}, false), ${chString(message)}) = 0, ${value}, NULL)`,
  times: 'seen',
  text(source, columns) {
    const query = `SELECT * FROM ${readCsv(source, columns)}${where(source)}\nSETTINGS ${settings(source).join(', ')}`;
    return { before: [], query };
  },
};

function readCsv({ lake, folder, shape, parts }: TableSource, columns: readonly ViewColumn[]): string {
  const names = shape === 'log' ? `/dt=*/run=*/${PARTS}` : `/${listOf(parts) ?? PARTS}`;
  const structure = columns.map(({ alias }) => `${chName(alias)} Nullable(String)`).join(', ');
  return files(lake, `${escapeGlob(folder)}${names}`, 'CSVWithNames', structure);
}

/** A glob for the names of parts. The condition of the view is stricter. */
const PARTS = 'part-?????-{????????,????????????????}{.csv,.csv.gz}';

function listOf(parts: TableSource['parts']): string | undefined {
  const names = parts?.map(nameOf);
  return names?.length === 1 ? names[0] : names && `{${names.join(',')}}`;
}

function settings({ shape, csv }: TableSource): string[] {
  return [
    `format_csv_delimiter = ${chString(csv.delimiter)}`,
    "format_csv_null_representation = ''",
    // The columns have the order of the header. Their names differ if they have an alias.
    'input_format_with_names_use_header = 0',
    'input_format_csv_detect_header = 0',
    'input_format_csv_use_best_effort_in_schema_inference = 0',
    // Rows of older change logs have fewer cells.
    ...(shape === 'log' ? ['input_format_csv_allow_variable_number_of_columns = 1'] : []),
    // Otherwise `dt` and `run` of the path become columns.
    'use_hive_partitioning = 0',
    'input_format_skip_unknown_fields = 1',
  ];
}

/** ClickHouse skips files that do not fulfil the first condition before it reads them. */
function where({ lake, pointer, shape, parts }: TableSource): string {
  if (parts !== undefined) return '';
  const isPart = `\nWHERE match(\`_file\`, ${chString(`^${PART_FORM}$`)})`;
  if (shape === 'run') return isPart;
  const latest = files(lake, escapeGlob(pointer), 'JSONEachRow', '`runId` String');
  return `${isPart}\n  AND substring(\`_run_id\`, 1, 16) <= (SELECT max(substring(\`runId\`, 1, 16)) FROM ${latest})`;
}

function files(lake: LakeSettings, path: string, format: string, structure: string): string {
  if (lake.url.startsWith('file:')) {
    const root = escapeGlob(fileURLToPath(lake.url));
    return `file(${[`${root}/${path}`, format, structure].map(chString).join(', ')})`;
  }
  return `s3(${[`${s3Address(lake, escapeGlob)}/${path}`, format, structure].map(chString).join(', ')})`;
}

/**
 * The address of a lake in S3 with http or https, as ClickHouse takes it.
 *
 * @param write how the lake's prefix in the bucket is written; default: unchanged
 */
export function s3Address(
  { url, endpoint, region, forcePathStyle }: LakeSettings,
  write: (prefix: string) => string = (prefix) => prefix,
): string {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)(.*)$/s.exec(url) ?? [];
  const base = new URL(endpoint ?? `https://${awsHost(region)}`);
  const root = base.pathname.replace(/\/$/, '');
  return forcePathStyle === true
    ? `${base.origin}${root}/${bucket}${write(prefix)}`
    : `${base.protocol}//${bucket}.${base.host}${root}${write(prefix)}`;
}

function escapeGlob(path: string): string {
  return path.replace(/[*?{}[\]\\]/g, '\\$&');
}

function cast(text: string, kind: TypedKind): string {
  switch (kind.type) {
    case 'boolean':
      return `CAST(multiIf(${text} = 'true', true, ${text} = 'false', false, NULL) AS Nullable(Bool))`;
    case 'int64':
      return `toInt64OrNull(${text})`;
    case 'int128':
      return `toInt128OrNull(${text})`;
    case 'decimal':
      return `toDecimal${kind.precision === 18 ? 64 : 128}OrNull(${text}, ${kind.scale})`;
    case 'double':
      return `toFloat64OrNull(${text})`;
    case 'date':
      return kind.isDistant ? text : `toDate32OrNull(${text})`;
    case 'time':
      return kind.isDistant ? text : `parseDateTime64BestEffortOrNull(${text}, ${kind.digits}, 'UTC')`;
  }
}
