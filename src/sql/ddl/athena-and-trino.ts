import { PART_FORM } from '../../lake/documents/lake-layout.js';
import { plainLower } from '../../lake/rows/column-aliases.js';
import type { TypedKind, ViewColumn } from './column-kinds.js';
import {
  type Engine,
  type ExactCast,
  failingCase,
  type Statement,
  statement,
  type TableSource,
  type TextRows,
  textAbout,
  tryCast,
  typeName,
} from './engine-views.js';
import { hiveName, hiveString, sqlName, sqlString } from './names-and-quotes.js';

/** The row is from a part. */
const IS_PART = `regexp_like("$path", ${sqlString(`/${PART_FORM}$`)})`;

/** Statements for Athena: external tables with text columns in Hive's syntax, and views in Trino's syntax. */
export const athena: Engine = {
  aliases: { toName: plainLower, reserved: ['dt', 'run'] },
  name: sqlName,
  string: sqlString,
  createView: 'CREATE OR REPLACE VIEW',
  nulls: 'lost',
  splitsAtLineBreaks: "Athena's OpenCSVSerDe",
  cast: (text, kind) => trinoCast(text, kind, 3),
  matches: (text, pattern) => `regexp_like(${text}, ${sqlString(`^(${pattern})$`)})`,
  orFail: (exact) => failingCase(exact, trinoFailure(exact, 3)),
  times: 'seen',
  isPart: IS_PART,
  text: (source, columns) =>
    hiveText(source, columns, { engine: athena, quoted: hiveName, create: athenaTable }),
};

/** A table over files whose columns are text. */
interface FileTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly url: string;
  /** The CSV delimiter; `null` for a table of lines with one column. */
  readonly delimiter: string | null;
}

/** How an engine defines such tables. */
interface TableStyle {
  readonly engine: Engine;
  /** Quotes a name in a definition. */
  readonly quoted: (name: string) => string;
  readonly create: (table: FileTable) => string;
}

/**
 * The text view of a source for engines that read files through Hive tables.
 *
 * @throws RangeError if the lake is not in S3
 */
function hiveText(source: TableSource, columns: readonly ViewColumn[], style: TableStyle): TextRows {
  const { lake, folder, name, shape, csv, pointer, resource } = source;
  const { engine } = style;
  if (!lake.url.startsWith('s3://')) {
    throw new RangeError(
      `${engine === athena ? 'Athena' : 'Trino'} reads only from S3, and the lake is ${lake.url}. Use the dialect duckdb`,
    );
  }
  const table = (about: string | readonly string[], one: FileTable): Statement[] => [
    statement(
      'define',
      'Drops only the table definition; the files are kept.',
      `DROP TABLE IF EXISTS ${style.quoted(one.name)}`,
    ),
    statement('define', about, style.create(one)),
  ];
  const nulls =
    'OpenCSVSerDe does not distinguish an empty string from a null. The typed view returns NULL for both.';
  const others =
    'Files of other programs in the folder are in this table, too. The typed view leaves them out.';
  const files = {
    columns: columns.map(({ alias }) => alias),
    url: `${lake.url}/${folder}/`,
    delimiter: csv.delimiter,
  };
  if (shape === 'run') {
    const about = [...textAbout(source, engine, columns), nulls, others];
    return { before: table(about, { ...files, name: `${name}_text` }), query: null };
  }
  const [latest, url] = [`${name}_latest`, `${lake.url}/${resource}/`];
  const runId = `max(substr(regexp_extract("line", '^  "runId": "([^"]+)"', 1), 1, 16))`;
  const isPointer = `"$path" = ${sqlString(`${lake.url}/${pointer}`)}`;
  const before = [
    ...table('The lines of the pointer to the last published run.', {
      ...{ name: latest, columns: ['line'], url, delimiter: null },
    }),
    ...table(['The files of all change logs, also of runs that are not published.', nulls], {
      ...files,
      name: `${name}_files`,
    }),
  ];
  const query =
    `SELECT * FROM ${sqlName(`${name}_files`)}\n` +
    `WHERE ${IS_PART}\n  AND substr("_run_id", 1, 16) <= (SELECT ${runId} FROM ${sqlName(latest)} WHERE ${isPointer})`;
  return { before, query };
}

function athenaTable({ name, columns, url, delimiter }: FileTable): string {
  // With the default escape character, a backslash, backslashes in values would be lost. Quotes are doubled instead.
  const csv = [
    "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'",
    `WITH SERDEPROPERTIES ('separatorChar' = ${hiveString(delimiter ?? '')}, 'quoteChar' = '"', 'escapeChar' = ${hiveString('\u0001')})`,
  ];
  return [
    `CREATE EXTERNAL TABLE ${hiveName(name)} (`,
    columns.map((one) => `  ${hiveName(one)} string`).join(',\n'),
    ')',
    ...(delimiter === null ? [`ROW FORMAT DELIMITED FIELDS TERMINATED BY ${hiveString('\u0001')}`] : csv),
    'STORED AS TEXTFILE',
    `LOCATION ${hiveString(url)}`,
    ...(delimiter === null ? [] : ["TBLPROPERTIES ('skip.header.line.count' = '1')"]),
  ].join('\n');
}

/**
 * A cast in Trino's syntax.
 *
 * @param timeDigits the most digits after the second that a time may have. Times with more stay text
 */
function trinoCast(text: string, kind: TypedKind, timeDigits: 3 | 6): string {
  if (kind.type !== 'time') return tryCast(TYPES[timeDigits])(text, kind);
  if (kind.digits > timeDigits) return text;
  // Athena rejects views with a zone in a column, and an unwrapped error would fail every query.
  return `TRY(CAST(at_timezone(${PARSE[timeDigits]}(${text}), 'UTC') AS ${TYPES[timeDigits].time}))`;
}

/** Trino has no documented function that fails a query. A cast of other text does, and its error shows the text. */
function trinoFailure({ text, kind, message }: ExactCast, timeDigits: 3 | 6): string {
  return `CAST(concat(${text}, ${sqlString(` (${message})`)}) AS ${typeName(TYPES[timeDigits], kind)})`;
}

const PARSE = { 3: 'from_iso8601_timestamp', 6: 'from_iso8601_timestamp_nanos' };
const COMMON_TYPES = {
  ...{ boolean: 'boolean', int64: 'bigint', int128: 'decimal(38, 0)' },
  ...{ decimal: 'decimal', double: 'double', date: 'date' },
};
const TYPES = {
  3: { ...COMMON_TYPES, time: 'timestamp(3)' },
  6: { ...COMMON_TYPES, time: 'timestamp(6)' },
};

/**
 * Statements for Trino with a Hive catalog. The catalog needs `hive.recursive-directories=true`, because the change logs of
 * all runs are below one folder, and permission to create tables.
 */
export const trino: Engine = {
  ...athena,
  splitsAtLineBreaks: "Trino's CSV reader",
  cast: (text, kind) => trinoCast(text, kind, 6),
  orFail: (exact) => failingCase(exact, trinoFailure(exact, 6)),
  text: (source, columns) =>
    hiveText(source, columns, { engine: trino, quoted: sqlName, create: trinoTable }),
};

function trinoTable({ name, columns, url, delimiter }: FileTable): string {
  // Unlike in Athena, the escape character cannot be a control character, and the default, a backslash, would be lost.
  const options = [
    `external_location = ${sqlString(url)}`,
    ...(delimiter === null
      ? ["format = 'TEXTFILE'", "textfile_field_separator = U&'\\0001'"]
      : [
          "format = 'CSV'",
          `csv_separator = ${sqlString(delimiter)}`,
          `csv_quote = '"'`,
          "csv_escape = U&'\\0001'",
          'skip_header_line_count = 1',
        ]),
  ];
  const fields = columns.map((one) => `  ${sqlName(one)} varchar`).join(',\n');
  return `CREATE TABLE ${sqlName(name)} (\n${fields}\n)\nWITH (\n  ${options.join(',\n  ')}\n)`;
}
