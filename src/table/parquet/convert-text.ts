import type { DuckDbBindings } from '../../core/duckdb-library.js';
import type { TableSettings } from '../../core/settings.js';
import { MAX_ROW_BYTES } from '../../lake/rows/csv.js';
import { type ColumnType, widenedType } from '../rules/column-type.js';
import { assembleFile, type ColumnSource, openParquet, rowsOfGroups } from './assemble-file.js';
import { type Connection, openDuckDb } from './duckdb.js';
import { isMemoryError, isRowError } from './engine-failure.js';
import { classOfValue, exactValue, type Forms, MACROS, NOT_PLAIN } from './exact-sql.js';
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
/** Most rows and bytes of text in a row group, which DuckDB holds in memory. */
const GROUP_ROWS = 20_480;
const GROUP_BYTES = 16 * MiB;
/** Most columns that are read together, unless a part has so many that its text would be read more often than this. */
const BAND_COLUMNS = 100;
const MOST_BANDS = 20;
/** Rows that DuckDB processes at a time. */
const VECTOR_ROWS = 2048;

/** Opens DuckDB for conversions. It can use files in this folder only. */
export async function connectTo(bindings: DuckDbBindings, folder: string): Promise<Connection> {
  // One thread, because the worker also needs the processor.
  const connection = await openDuckDb(bindings, {
    ...{ threads: '1', autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' },
    ...{ allow_community_extensions: 'false', allow_persistent_secrets: 'false' },
  });
  const settings = [
    `SET allowed_directories = [${sqlString(folder)}]`,
    "SET temp_directory = ''",
    'SET enable_external_access = false',
    "SET TimeZone = 'UTC'",
    // Memory that was freed goes back to the system.
    "SET allocator_bulk_deallocation_flush_threshold = '1MB'",
  ];
  await connection.run([...settings, ...MACROS].join(';\n'));
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
  connection: Connection,
  part: PartFile,
  target: Target,
): Promise<Converted> {
  return withLimits(connection, part, async (text) => {
    const unfit = await countUnfitIn(connection, text, part.columns);
    const write = (types: readonly ColumnType[]): Promise<number | null> =>
      inForms((forms) => writeFile(connection, text, target, { part, types, unfit, forms }));
    let types = await firstTypes(connection, text, part.columns);
    let rows = await write(types);
    if (rows === null) {
      types = await widen(connection, text, part.columns, ({ fixed, type }) => !fixed && type !== 'string');
      rows = await write(types);
    }
    if (rows === null) throw new Error(`no types hold the values: ${types.join(', ')}`);
    return { rows, types, unfit };
  });
}

/** The types to begin with. Once values have decided some, a column without values rarely gets one, so the rows are not read first. */
async function firstTypes(
  connection: Connection,
  text: string,
  columns: readonly PartColumn[],
): Promise<ColumnType[]> {
  const isDecided = columns.some(({ kind, type, fixed }) => !fixed && kind !== 'text' && type !== 'empty');
  if (isDecided) return columns.map(({ type }) => type);
  const isOpen = ({ type, fixed }: PartColumn): boolean => !fixed && type === 'empty';
  return widen(connection, `(FROM ${text} LIMIT ${PROBE_ROWS})`, columns, isOpen);
}

/** Number of values, by column, that do not fit the type of the configuration. */
export function countUnfit(connection: Connection, part: PartFile): Promise<number[]> {
  return withLimits(connection, part, (text) => countUnfitIn(connection, text, part.columns));
}

/** Reads a part with the least memory that its rows need. @param work receives SQL for the rows, whose columns are c0, c1, ... */
export async function withLimits<T>(
  connection: Connection,
  part: PartFile,
  work: (text: string) => Promise<T>,
): Promise<T> {
  const longest = Math.min(part.rawBytes, MAX_ROW_BYTES);
  const lines = [...LINE_BYTES.filter((bytes) => bytes < longest), longest + KiB];
  for (let [line, memory] = [0, 0]; ; ) {
    const lineBytes = lines[line]!;
    const least = Math.max(LINES_IN_MEMORY * lineBytes, COLUMN_BYTES * part.columns.length);
    const bytes = Math.max(MEMORY_BYTES[memory]!, least);
    await connection.limitMemory(bytes);
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
  connection: Connection,
  text: string,
  columns: readonly PartColumn[],
): Promise<number[]> {
  const counted = columns.flatMap(({ fixed, type }, at) =>
    fixed && type !== 'string' ? [{ type, at }] : [],
  );
  const unfit = columns.map(() => 0);
  for (const band of inBands(counted)) {
    const counts = band.map(
      ({ type, at }) =>
        `count(*) FILTER (WHERE c${at} IS NOT NULL AND ${exactValue(type, `c${at}`, 'all')} IS NULL)`,
    );
    const [found] = await connection.texts(`SELECT ${counts.join(', ')} FROM ${text}`);
    for (const [index, { at }] of band.entries()) unfit[at] = Number(found![index]);
  }
  return unfit;
}

/**
 * Parts of a list of columns that are read together. DuckDB plans each expression, compiles its patterns and has vectors for it, which takes
 * milliseconds and a third of a MiB.
 */
function inBands<T>(list: readonly T[], count = bandsFor(list.length)): T[][] {
  const startOf = (band: number): number => Math.floor((band * list.length) / count);
  return Array.from({ length: count }, (_, band) => list.slice(startOf(band), startOf(band + 1)));
}

function bandsFor(columns: number): number {
  return Math.min(Math.ceil(columns / BAND_COLUMNS), MOST_BANDS);
}

/** The types of the columns, some widened by the values in the rows. */
async function widen(
  connection: Connection,
  rows: string,
  columns: readonly PartColumn[],
  isOpen: (column: PartColumn) => boolean,
): Promise<ColumnType[]> {
  const types = columns.map(({ type }) => type);
  const open = columns.flatMap((column, at) => (isOpen(column) ? [{ ...column, at }] : []));
  for (const band of inBands(open)) {
    const plain = await classesIn(connection, rows, band, 'plain');
    const isPlain = (at: number): boolean => !plain[at]!.includes(NOT_PLAIN);
    const others = band.filter((_, at) => !isPlain(at));
    const found = others.length === 0 ? [] : await classesIn(connection, rows, others, 'all');
    for (const [index, { at, type, kind }] of band.entries())
      types[at] = widenedType(type, kind, isPlain(index) ? plain[index]! : found.shift()!);
  }
  return types;
}

/** The classes of the values of each column that its type does not hold. */
async function classesIn(
  connection: Connection,
  rows: string,
  columns: readonly (PartColumn & { readonly at: number })[],
  forms: Forms,
): Promise<number[][]> {
  const classes = columns.map(({ type, kind, at }) => {
    const x = `c${at}`;
    const fits = type === 'empty' ? 'false' : `${exactValue(type, x, 'common', forms)} IS NOT NULL`;
    const code = `CASE WHEN ${x} IS NULL OR ${fits} THEN NULL ELSE ${classOfValue(kind, x, forms)} END`;
    // A histogram needs no table of 2 MiB per column, as DISTINCT does.
    return `map_keys(histogram(${code}))`;
  });
  const [found] = await connection.texts(`SELECT ${classes.join(', ')} FROM ${rows}`);
  return found!.map((one) => JSON.parse(one ?? '[]') as number[]);
}

/** A column of a file. */
export interface StoredColumn {
  readonly alias: string;
  readonly type: ColumnType;
  readonly fixed: boolean;
  /** Its place in the text. */
  readonly at: number;
  /** Its place in the file, which does not have columns without values. */
  readonly place: number;
}

/** Columns that are written together. */
export interface Band {
  readonly stored: readonly StoredColumn[];
  /** Places of columns in the text that have no value. */
  readonly empty: readonly number[];
}

/** The columns of a file in bands, in order. */
export function bandsOf(columns: readonly PartColumn[], types: readonly ColumnType[]): Band[] {
  const all = columns.map(({ alias, fixed }, at) => ({ alias, fixed, type: types[at]!, at }));
  const stored = all
    .filter(({ type }) => type !== 'empty')
    .map((column, place): StoredColumn => ({ ...column, place }));
  const empty = all.filter(({ type }) => type === 'empty').map(({ at }) => at);
  const count = Math.min(bandsFor(columns.length), stored.length);
  const emptyIn = inBands(empty, count);
  return inBands(stored, count).map((some, band) => ({ stored: some, empty: emptyIn[band]! }));
}

/** Writes the text to a file. @throws as `storedRows` */
async function writeFile(
  connection: Connection,
  text: string,
  { to, codec }: Target,
  { part, types, unfit, forms }: Omit<Converted, 'rows'> & { readonly part: PartFile; readonly forms: Forms },
): Promise<number> {
  const metadata = footerMetadata({ types, unfit, columns: part.columns });
  const rowsOfGroup = groupRows(part);
  const bands = bandsOf(part.columns, types);
  const [only] = bands;
  if (bands.length === 1)
    return copyRows(connection, storedRows(text, only!, forms), { to, codec, rowsOfGroup, metadata });
  const groups: ColumnSource[][] = [];
  let rows = 0;
  for (const [index, band] of bands.entries()) {
    const path = `${to}.${index}`;
    rows = await copyRows(connection, storedRows(text, band, forms), { to: path, codec, rowsOfGroup });
    const file = await openParquet(path);
    for (const group of rowsOfGroups(file.footer).keys()) {
      groups[group] ??= [];
      groups[group].push(...band.stored.map((_, column) => ({ file, group, column })));
    }
  }
  assembleFile(to, groups, metadata);
  return rows;
}

/** The metadata in the footer of a file. @param updated number of rows that updates have written */
export function footerMetadata({
  columns,
  types,
  unfit,
  updated = 0,
}: Omit<Converted, 'rows'> & {
  readonly columns: readonly PartColumn[];
  readonly updated?: number;
}): Record<string, string> {
  const counts = columns.map(({ fixed }, at) => (fixed ? unfit[at] : null));
  return {
    ...{ [TYPES_KEY]: JSON.stringify(types), [UNFIT_KEY]: JSON.stringify(counts) },
    ...(updated === 0 ? {} : { [UPDATED_KEY]: String(updated) }),
  };
}

/** SQL for the rows of a text with the values of a file. It fails if a type, which the configuration does not set, cannot hold a value. */
export function storedRows(text: string, { stored, empty }: Band, forms: Forms): string {
  const values = stored.map(
    ({ alias, type, at, fixed }) =>
      `${storedValue(type, `c${at}`, fixed ? 'fixed' : forms)} AS ${sqlName(alias)}`,
  );
  const isEmpty = `coalesce(${empty.map((at) => `c${at}`).join(', ')}) IS NULL`;
  const condition = empty.length === 0 ? 'true' : `CASE WHEN ${isEmpty} THEN true ELSE ${FAILURE} END`;
  return `SELECT ${values.join(',\n')} FROM ${text} WHERE ${condition}`;
}

interface Copy extends Target {
  readonly rowsOfGroup: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Writes rows to a file. @param sql for the rows @returns their number */
export async function copyRows(
  connection: Connection,
  sql: string,
  { to, codec, rowsOfGroup, metadata = {} }: Copy,
): Promise<number> {
  const entries = Object.entries(metadata).map(([key, value]) => `'${key}': ${sqlString(value)}`);
  const options = [
    ...['FORMAT parquet', `COMPRESSION ${codec}`, 'WRITE_BLOOM_FILTER false'],
    `ROW_GROUP_SIZE ${rowsOfGroup}`,
    ...(entries.length === 0 ? [] : [`KV_METADATA {${entries.join(', ')}}`]),
  ];
  return connection.run(`COPY (${sql}) TO ${sqlString(to)} (${options.join(', ')})`);
}

/**
 * Does something with values in plain forms, and again with all forms if a value has another one.
 *
 * @returns `null` if a type, which the configuration does not set, cannot hold a value
 */
export async function inForms<T>(work: (forms: Forms) => Promise<T>): Promise<T | null> {
  for (const forms of ['plain', 'all'] as const) {
    try {
      return await work(forms);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith(`Invalid Input Error: ${UNFIT}`))) throw error;
    }
  }
  return null;
}

const UNFIT = 'worktrack: a value does not fit the type of its column';
const FAILURE = `error('${UNFIT}')`;

function storedValue(type: ColumnType, x: string, forms: Forms | 'fixed'): string {
  if (type === 'string') return x;
  if (forms === 'fixed') return exactValue(type, x, 'all');
  return `CASE WHEN ${x} IS NULL THEN NULL ELSE coalesce(${exactValue(type, x, 'common', forms)}, ${FAILURE}) END`;
}

/** Rows of a row group. The longer they are, the fewer, so that memory is bounded. */
export function groupRows({ rows, rawBytes }: Pick<RowsOfPart, 'rows' | 'rawBytes'>): number {
  const most = Math.min(GROUP_ROWS, (GROUP_BYTES * rows) / rawBytes);
  return Math.max(VECTOR_ROWS, Math.floor(most));
}

export function sqlString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
