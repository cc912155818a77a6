import type { DuckDBConnection } from '@duckdb/node-api';
import type { DuckDbLibrary } from '../../core/duckdb-library.js';
import type { TableSettings } from '../../core/settings.js';
import { MAX_ROW_BYTES } from '../../lake/rows/csv.js';
import { type ColumnType, widenedType } from '../rules/column-type.js';
import { isMemoryError, isRowError } from './engine-failure.js';
import { classOfValue, exactValue, MACROS } from './exact-sql.js';
import {
  type Converted,
  type PartColumn,
  type PartFile,
  type RowsOfPart,
  TYPES_KEY,
  UNFIT_KEY,
  UPDATED_KEY,
} from './part-file.js';

const KiB = 1024;
const MiB = 1024 * KiB;
/** Lengths of rows that are tried before the longest that the text can have. DuckDB reserves a few times as much memory. */
const LINE_BYTES = [MiB, 8 * MiB, 64 * MiB];
/** Memory of DuckDB that is tried: few parts need more than the first. */
const MEMORY_BYTES = [64 * MiB, 256 * MiB, 1024 * MiB];
/** How much of it must be there for the longest row, and for a column, whose vectors it reserves but rarely fills. */
const LINES_IN_MEMORY = 12;
const COLUMN_BYTES = 256 * KiB;
/** Rows that are read to find the types of a new table. */
const PROBE_ROWS = 2048;
/** Most rows, cells and bytes of text in a row group, which DuckDB holds in memory. */
const GROUP_ROWS = 20_480;
const GROUP_CELLS = 1000 * GROUP_ROWS;
const GROUP_BYTES = 16 * MiB;
/** More columns than these are computed as lists. */
const MOST_EXPRESSIONS = 100;
/** Rows that DuckDB processes at a time. */
const VECTOR_ROWS = 2048;

/** Opens DuckDB for conversions. It can use files in this folder only. */
export async function connectTo(library: DuckDbLibrary, folder: string): Promise<DuckDBConnection> {
  // One thread, because the worker also needs the processor.
  const instance = await library.DuckDBInstance.create(':memory:', {
    ...{ threads: '1', autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' },
    ...{ allow_community_extensions: 'false', allow_persistent_secrets: 'false' },
  });
  const connection = await instance.connect();
  const settings = [
    `SET allowed_directories = [${sqlString(folder)}]`,
    "SET temp_directory = ''",
    'SET enable_external_access = false',
    "SET TimeZone = 'UTC'",
    // Memory that was freed goes back to the system.
    "SET allocator_bulk_deallocation_flush_threshold = '1MB'",
  ];
  for (const statement of [...settings, ...MACROS]) await connection.run(statement);
  return connection;
}

/** The file that a conversion writes. */
export interface Target {
  readonly to: string;
  readonly codec: TableSettings['codec'];
}

/**
 * Converts the text of a part to a Parquet file. Each value is proven to be exact (`exact-sql.ts`). The first rows of a table decide its
 * types; if a later value does not fit, all values are read for their types, and the file is written again.
 *
 * @throws Error of DuckDB, whose message can contain values
 */
export async function convertText(
  connection: DuckDBConnection,
  part: PartFile,
  target: Target,
): Promise<Converted> {
  return withLimits(connection, part, async (text) => {
    const unfit = await countUnfitIn(connection, text, part.columns);
    let types = await firstTypes(connection, text, part.columns);
    let rows = await copy(connection, text, target, { part, types, unfit });
    if (rows === null) {
      types = await widen(connection, text, part.columns, ({ fixed, type }) => !fixed && type !== 'string');
      rows = await copy(connection, text, target, { part, types, unfit });
    }
    if (rows === null) throw new Error(`no types hold the values: ${types.join(', ')}`);
    return { rows, types, unfit };
  });
}

/** The types to begin with. Once values have decided some, a column without values rarely gets one, so the rows are not read first. */
async function firstTypes(
  connection: DuckDBConnection,
  text: string,
  columns: readonly PartColumn[],
): Promise<ColumnType[]> {
  const isDecided = columns.some(({ kind, type, fixed }) => !fixed && kind !== 'text' && type !== 'empty');
  if (isDecided) return columns.map(({ type }) => type);
  const isOpen = ({ type, fixed }: PartColumn): boolean => !fixed && type === 'empty';
  return widen(connection, `(FROM ${text} LIMIT ${PROBE_ROWS})`, columns, isOpen);
}

/** Number of values, by column, that do not fit the type of the configuration. */
export function countUnfit(connection: DuckDBConnection, part: PartFile): Promise<number[]> {
  return withLimits(connection, part, (text) => countUnfitIn(connection, text, part.columns));
}

/** Reads a part with the least memory that its rows need. @param work receives SQL for the rows, whose columns are c0, c1, ... */
export async function withLimits<T>(
  connection: DuckDBConnection,
  part: PartFile,
  work: (text: string) => Promise<T>,
): Promise<T> {
  const longest = Math.min(part.rawBytes, MAX_ROW_BYTES);
  const lines = [...LINE_BYTES.filter((bytes) => bytes < longest), longest + KiB];
  for (let [line, memory] = [0, 0]; ; ) {
    const lineBytes = lines[line]!;
    const least = Math.max(LINES_IN_MEMORY * lineBytes, COLUMN_BYTES * part.columns.length);
    const bytes = Math.max(MEMORY_BYTES[memory]!, least);
    await connection.run(`SET memory_limit = '${bytes}B'`);
    try {
      return await work(csvText(part, lineBytes));
    } catch (error) {
      // Of a row that is too long, the message says so, or that a quote is not closed.
      if (isRowError(error) && line + 1 < lines.length) line++;
      else if (isMemoryError(error) && memory + 1 < MEMORY_BYTES.length) memory++;
      else throw error;
    }
  }
}

function csvText({ path, csv, columns }: PartFile, lineBytes: number): string {
  const options = [
    ...['auto_detect = false', 'header = true', `delim = ${sqlString(csv.delimiter)}`],
    ...[`quote = '"'`, `escape = '"'`, String.raw`new_line = '\n'`],
    ...[`compression = ${sqlString(csv.compression)}`, `nullstr = ''`, 'allow_quoted_nulls = false'],
    ...[`max_line_size = ${lineBytes}`, `buffer_size = ${lineBytes}`],
    `columns = {${columns.map((_, at) => `'c${at}': 'VARCHAR'`).join(', ')}}`,
  ];
  return `read_csv(${sqlString(path)}, ${options.join(', ')})`;
}

export async function countUnfitIn(
  connection: DuckDBConnection,
  text: string,
  columns: readonly PartColumn[],
): Promise<number[]> {
  const counted = columns.flatMap(({ fixed, type }, at): CellValue[] => {
    if (!fixed || type === 'string') return [];
    return [{ at, sql: (x) => `${x} IS NOT NULL AND ${exactValue(type, x, 'all')} IS NULL` }];
  });
  const unfit = columns.map(() => 0);
  if (counted.length === 0) return unfit;
  const { values, from } = computed(text, counted);
  const counts = values.map((isUnfit) => `count(*) FILTER (WHERE ${isUnfit})`);
  const found = await firstRow(connection, `SELECT ${counts.join(', ')} FROM ${from}`);
  for (const [index, { at }] of counted.entries()) unfit[at] = Number(found[index]);
  return unfit;
}

/** A value that is computed from the text of a column. */
interface CellValue {
  readonly at: number;
  /** SQL for it. @param x SQL for the text */
  readonly sql: (x: string) => string;
}

/**
 * SQL for values, and for the rows that they are of. DuckDB plans each expression and compiles its patterns, which takes milliseconds and
 * a third of a MiB. So many columns are computed as lists, with one expression for all that have the same.
 */
function computed(
  text: string,
  cells: readonly CellValue[],
): { readonly values: readonly string[]; readonly from: string } {
  if (cells.length <= MOST_EXPRESSIONS)
    return { values: cells.map(({ at, sql }) => sql(`c${at}`)), from: text };
  const lists = new Map<string, string[]>();
  const values = cells.map(({ at, sql }) => {
    const each = sql('x');
    if (each === 'x') return `c${at}`;
    const list = lists.get(each) ?? [];
    lists.set(each, list);
    const place = list.push(`c${at}`);
    return `l${[...lists.keys()].indexOf(each)}[${place}]`;
  });
  const computedLists = [...lists].map(
    ([each, list], index) => `list_transform([${list.join(', ')}], lambda x: ${each}) AS l${index}`,
  );
  return { values, from: `(SELECT ${['*', ...computedLists].join(', ')} FROM ${text})` };
}

/** The types of the columns, some widened by the values in the rows. */
async function widen(
  connection: DuckDBConnection,
  rows: string,
  columns: readonly PartColumn[],
  isOpen: (column: PartColumn) => boolean,
): Promise<ColumnType[]> {
  const types = columns.map(({ type }) => type);
  const open = columns.flatMap((column, at) => (isOpen(column) ? [{ ...column, at }] : []));
  if (open.length === 0) return types;
  const codes = open.map(
    ({ type, kind, at }): CellValue => ({
      at,
      sql(x) {
        const fits = type === 'empty' ? 'false' : `${exactValue(type, x, 'common')} IS NOT NULL`;
        return `CASE WHEN ${x} IS NULL OR ${fits} THEN NULL ELSE ${classOfValue(kind, x)} END`;
      },
    }),
  );
  const { values, from } = computed(rows, codes);
  // A histogram needs no table of 2 MiB per column, as DISTINCT does. As text, because a list of numbers is an object of the library.
  const classes = values.map((code) => `CAST(map_keys(histogram(${code})) AS VARCHAR)`);
  const found = await firstRow(connection, `SELECT ${classes.join(', ')} FROM ${from}`);
  for (const [index, { at, type, kind }] of open.entries())
    types[at] = widenedType(type, kind, JSON.parse((found[index] as string | null) ?? '[]') as number[]);
  return types;
}

/** @returns the number of rows; `null` if a type, which the configuration does not set, cannot hold a value */
async function copy(
  connection: DuckDBConnection,
  text: string,
  target: Target,
  { part, types, unfit }: Omit<Converted, 'rows'> & { readonly part: PartFile },
): Promise<number | null> {
  const { sql } = storedRows(text, part.columns, types);
  return writeRows(connection, sql, target, { part, types, unfit });
}

/** SQL for the rows of a text with the values of a file, and the names of its columns. It fails with `UNFIT` if a type cannot hold a value. */
export function storedRows(
  text: string,
  columns: readonly PartColumn[],
  types: readonly ColumnType[],
): { readonly sql: string; readonly names: readonly string[] } {
  const kept = columns.flatMap(({ alias, fixed }, at) =>
    types[at] === 'empty' ? [] : [{ at, alias, sql: (x: string) => storedValue(types[at]!, x, fixed) }],
  );
  const { values, from } = computed(text, kept);
  const names = kept.map(({ alias }) => alias);
  const stored = values.map((value, index) => `${value} AS ${sqlName(names[index]!)}`);
  const empty = columns.flatMap((_, at) => (types[at] === 'empty' ? [`c${at}`] : []));
  const condition =
    empty.length === 0
      ? 'true'
      : `CASE WHEN coalesce(${empty.join(', ')}) IS NULL THEN true ELSE ${FAILURE} END`;
  return { sql: `SELECT ${stored.join(',\n')} FROM ${from} WHERE ${condition}`, names };
}

/**
 * Writes rows to a file. @param sql for the rows @param updated how many of them, at the end, are from an update
 * @returns as `copy`
 */
export async function writeRows(
  connection: DuckDBConnection,
  sql: string,
  { to, codec }: Target,
  { part, types, unfit }: Omit<Converted, 'rows'> & { readonly part: RowsOfPart },
  updated = 0,
): Promise<number | null> {
  const counts = part.columns.map(({ fixed }, at) => (fixed ? unfit[at] : null));
  const metadata = {
    ...{ [TYPES_KEY]: types, [UNFIT_KEY]: counts },
    ...(updated === 0 ? {} : { [UPDATED_KEY]: updated }),
  };
  const entries = Object.entries(metadata).map(([key, value]) => `'${key}': ${sqlJson(value)}`);
  const options = [
    ...['FORMAT parquet', `COMPRESSION ${codec}`, 'WRITE_BLOOM_FILTER false'],
    `ROW_GROUP_SIZE ${groupRows(part)}`,
    `KV_METADATA {${entries.join(', ')}}`,
  ];
  try {
    const [rows] = await firstRow(connection, `COPY (${sql}) TO ${sqlString(to)} (${options.join(', ')})`);
    return Number(rows);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith(`Invalid Input Error: ${UNFIT}`)) return null;
    throw error;
  }
}

const UNFIT = 'worktrack: a value does not fit the type of its column';
const FAILURE = `error('${UNFIT}')`;

function storedValue(type: ColumnType, x: string, fixed: boolean): string {
  if (type === 'string') return x;
  if (fixed) return exactValue(type, x, 'all');
  return `CASE WHEN ${x} IS NULL THEN NULL ELSE coalesce(${exactValue(type, x, 'common')}, ${FAILURE}) END`;
}

/** Rows of a row group. The longer they are, the fewer, so that memory is bounded. */
function groupRows({ columns, rows, rawBytes }: RowsOfPart): number {
  const most = Math.min(GROUP_ROWS, GROUP_CELLS / columns.length, (GROUP_BYTES * rows) / rawBytes);
  return Math.max(VECTOR_ROWS, Math.floor(most));
}

export function sqlString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function sqlJson(value: unknown): string {
  return sqlString(JSON.stringify(value));
}

export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

async function firstRow(connection: DuckDBConnection, sql: string): Promise<unknown[]> {
  const result = await connection.runAndReadAll(sql);
  return result.getRowsJS()[0] ?? [];
}
