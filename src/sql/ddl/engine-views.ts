import type { ObjectKey } from '../../core/brands.js';
import type { CsvSettings, DeletePolicy, LakeSettings } from '../../core/settings.js';
import { type AliasRules, columnAliases } from '../../lake/rows/column-aliases.js';
import { type Column, columnName, META_COLUMNS } from '../../lake/rows/data-columns.js';
import {
  aliasComments,
  columnKind,
  metaKind,
  type Numbers,
  TEXT,
  type TypedKind,
  type ViewColumn,
} from './column-kinds.js';

/** One SQL statement with its purpose. */
export interface Statement {
  /**
   * `define` creates a table or view and can be run again. `setup` must run first in a session that cannot read the lake
   * yet, and runs as it is. `template` is an alternative, or has a name to replace first. `check` is an optional query.
   */
  readonly kind: 'define' | 'setup' | 'template' | 'check';
  /** Comment lines, without line breaks. */
  readonly about: readonly string[];
  /** The statement, without a semicolon. */
  readonly sql: string;
}

/** @param about its comment, one line or several */
export function statement(
  kind: Statement['kind'],
  about: string | readonly string[],
  sql: string,
): Statement {
  return { kind, about: typeof about === 'string' ? [about] : about, sql };
}

/** Comment of the first statement that lets a session read from S3. */
export const SESSION_SETUP =
  'A session needs this once to read from S3. `worktrack ddl --setup` prints it without the comment marks:';

/** A source of rows for a table. */
export interface TableSource {
  readonly lake: LakeSettings;
  readonly resource: string;
  /** Name of the typed view. The text view, if there is one, has the suffix `_text`. */
  readonly name: string;
  readonly about: string;
  /** `run`: the parts in the folder of a run. `log`: the parts of all runs below a folder. `newest`: the newest rows of `log`. */
  readonly shape: 'run' | 'log' | 'newest';
  /** A run's folder, or the root of a tree that contains `dt=…/run=…/` folders. */
  readonly folder: ObjectKey;
  /** Keys of the parts of a run; absent for a log, and for more than fit into a statement. Without them, parts are found by their names. */
  readonly parts?: readonly ObjectKey[];
  /** Whether it is the snapshot of the last published run. A session of DuckDB can look up a later one. */
  readonly isCurrent?: boolean;
  /** Paths of its files on this machine, which replace the parts. */
  readonly files?: readonly string[];
  /** Key of the pointer, which names the last published run. */
  readonly pointer: ObjectKey;
  readonly columns: readonly Column[];
  /** Names of the key columns. */
  readonly key: readonly string[];
  readonly csv: CsvSettings;
  readonly deletes: DeletePolicy;
  /** Columns whose values are hashed or redacted, so their type is text. */
  readonly masked: ReadonlySet<string>;
  readonly numbers: Numbers;
  /** Line breaks inside cells of the source. */
  readonly lineBreaks: number;
  /** Name of the typed view of all change logs. */
  readonly logName: string;
}

/** `views`: every source also has a view with each value as text. `inline`: only if the engine needs one to read files. */
export type TextViews = 'views' | 'inline';

/** How an engine reads the rows of a source, every column as text. */
export interface TextRows {
  /** Statements that come first, such as the definition of a table over the files. */
  readonly before: readonly Statement[];
  /** A query for the rows; `null`: the statements define the table or view with the suffix `_text`. */
  readonly query: string | null;
}

/** What differs between query engines. */
export interface Engine {
  readonly aliases: AliasRules;
  /** Quotes a name. */
  readonly name: (name: string) => string;
  /** Quotes a text. */
  readonly string: (text: string) => string;
  readonly createView: string;
  /** Whether views read an unquoted empty field as NULL. If not, they return NULL for an empty text, too. */
  readonly nulls: 'kept' | 'lost';
  /** Casts a non-empty text to a type that is not text; NULL if it is none of its values. It may round. */
  readonly cast: (text: string, kind: TypedKind) => string;
  /** Condition: the whole text matches a regular expression. */
  readonly matches: (text: string, pattern: string) => string;
  /** The value of a cast. If the text is not null and does not fit, the query fails. */
  readonly orFail: (cast: ExactCast) => string;
  /** `all`: the types hold all years and microseconds. `seen`: they are as narrow as the values seen. */
  readonly times: 'all' | 'seen';
  /** Condition of the typed view of a run: the row is from a part. Absent if the text view has only such rows. */
  readonly isPart?: string;
  /** The rows of a run's folder or of the change logs as text. */
  readonly text: (source: TableSource, columns: readonly ViewColumn[]) => TextRows;
  /** Columns of the text view of change logs that come from the path of a file. */
  readonly partitions?: readonly string[];
  /** Name of the engine's CSV reader, if it takes each line break for the end of a row. */
  readonly splitsAtLineBreaks?: string;
  /** Prints a query that counts values which do not fit their type. */
  readonly check?: (source: TableSource, columns: readonly ViewColumn[]) => Statement[];
}

/**
 * Most engines round a number that has too many decimal places, and some ignore the time in a date or read `yes` as a
 * boolean. A view can meet values that appeared after it was printed. So each cast of a typed view first checks the form
 * of the text (docs/explanation/delta-tables.md#why-typed-views-of-the-csv-files-fail-instead-of-rounding).
 */

/** A value in a typed view. */
export interface ExactCast {
  /** The text to cast; NULL for a null. */
  readonly text: string;
  readonly kind: TypedKind;
  /** The text as a value of its type. */
  readonly value: string;
  /** Condition: the type holds the text exactly. Not NULL unless the text is. */
  readonly fits: string;
  /** Why the query fails, without a value. */
  readonly message: string;
}

/** The names of an engine's types. Its decimal type takes precision and scale. */
export type TypeNames = Readonly<Record<TypedKind['type'], string>>;

export function typeName(types: TypeNames, kind: TypedKind): string {
  const name = types[kind.type];
  return kind.type === 'decimal' ? `${name}(${kind.precision}, ${kind.scale})` : name;
}

/** The cast of an engine that has `TRY_CAST`. */
export function tryCast(types: TypeNames): Engine['cast'] {
  return (text, kind) => `TRY_CAST(${text} AS ${typeName(types, kind)})`;
}

/** Fails in the last branch of a CASE. Only for engines that evaluate no other branch than the one that applies. */
export function failingCase({ text, value, fits }: ExactCast, failure: string): string {
  return `CASE WHEN ${text} IS NULL THEN NULL WHEN ${fits} THEN ${value} ELSE ${failure} END`;
}

/**
 * A regular expression for the texts that a type holds without rounding, apart from its range. It uses only what all engines
 * have in common, and no backslash.
 */
function formOf(kind: TypedKind, times: Engine['times']): string {
  switch (kind.type) {
    case 'boolean':
      return 'true|false';
    case 'int64':
      return '-?[0-9]{1,19}';
    case 'int128':
      return '-?[0-9]{1,38}';
    case 'decimal':
      return `-?[0-9]{1,${kind.precision - kind.scale}}([.][0-9]{0,${kind.scale}}0*)?`;
    case 'double':
      return '-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?';
    case 'date':
      return dateForm(kind.isDistant || times === 'all');
    case 'time': {
      const digits = times === 'all' ? 6 : kind.digits;
      const clock = `T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{0,${digits}}0*)?(Z|[+-][0-9]{2}:[0-9]{2})`;
      return `${dateForm(kind.isDistant || times === 'all')}${clock}`;
    }
  }
}

function dateForm(anyYear: boolean): string {
  return `${anyYear ? '[0-9]{4}' : '(19|2[0-2])[0-9]{2}'}-[0-9]{2}-[0-9]{2}`;
}

/** Names that no column has: they are reserved in every dialect. */
const ROW_NUMBER = '_worktrack_row';
export const NEXT_RUN = '_worktrack_next_run';
const FILE = '_worktrack_file';

/** The text view of a source, if it has one, and then its typed view. */
export function viewStatements(engine: Engine, source: TableSource, texts: TextViews): Statement[] {
  const columns = columnsOf(engine, source);
  const rows =
    source.shape === 'newest' ? newestText(engine, source, columns, texts) : engine.text(source, columns);
  const values = typedView(engine, source, columns, fromText(engine, source.name, rows, texts));
  if (texts === 'views')
    return [
      ...textStatements(engine, source, columns, rows),
      values,
      ...(engine.check?.(source, columns) ?? []),
    ];
  const aliases = rows.query === null ? [] : aliasComments(columns);
  return [...rows.before, { ...values, about: [...values.about, ...aliases] }];
}

/** What a typed view reads: the text view of a source, or its query. */
function fromText(engine: Engine, name: string, { query }: TextRows, texts: TextViews): string {
  if (texts === 'views' || query === null) return engine.name(`${name}_text`);
  return `(\n${query}\n) AS ${engine.name('_worktrack_text')}`;
}

/** The statements that define the text view of a source. */
export function textStatements(
  engine: Engine,
  source: TableSource,
  columns: readonly ViewColumn[],
  { before, query } = engine.text(source, columns),
): Statement[] {
  if (query === null) return [...before];
  const note =
    source.shape === 'newest'
      ? ['It names no run, so it stays current. Each query reads the change logs of all runs.']
      : [];
  const about = [...textAbout(source, engine, columns), ...note];
  return [...before, view(engine, `${source.name}_text`, about, query)];
}

/** The columns of a source, with the names that they have in its views. */
export function columnsOf({ aliases }: Engine, { columns, masked, numbers }: TableSource): ViewColumn[] {
  const all = [
    ...META_COLUMNS.map((name) => ({ name, kind: metaKind(name) })),
    ...columns.map((column) => ({
      name: column.name,
      kind: masked.has(column.name) ? TEXT : columnKind(column, numbers),
    })),
  ];
  const reserved = [...aliases.reserved, ROW_NUMBER, NEXT_RUN, FILE];
  const names = columnAliases(
    all.map(({ name }) => name),
    { ...aliases, reserved },
  );
  return all.map((column, at) => ({ ...column, alias: names[at]! }));
}

/** The key columns, in the order of the key. */
export function keyColumns({ key }: TableSource, columns: readonly ViewColumn[]): ViewColumn[] {
  return key.map((field) => columns.find(({ name }) => name === columnName(field))!);
}

/** Comment of a text view. */
export function textAbout(
  { about }: TableSource,
  { nulls }: Engine,
  columns: readonly ViewColumn[],
): string[] {
  const distinct = nulls === 'kept' ? " A null is NULL, an empty string is ''." : '';
  return [`${about}, every column as text.${distinct}`, ...aliasComments(columns)];
}

/**
 * The newest row of each key in the change logs, which is its row in the snapshot. With `deletes: drop`, deleted rows are
 * not in the snapshot (docs/explanation/guarantees.md#deletes).
 */
function newestText(
  engine: Engine,
  source: TableSource,
  columns: readonly ViewColumn[],
  texts: TextViews,
): TextRows {
  const { name } = engine;
  const log: TableSource = { ...source, name: source.logName, shape: 'log' };
  const from = fromText(engine, log.name, engine.text(log, columns), texts);
  const keys = keyColumns(source, columns).map(({ alias }) => name(alias));
  const list = columns.map(({ alias }) => `  ${name(alias)}`).join(',\n');
  const row = name(ROW_NUMBER);
  const live = source.deletes === 'drop' ? ` AND ${isEmpty(engine, name('_deleted_at'))}` : '';
  const query = [
    `SELECT\n${list}\nFROM (`,
    `  SELECT *, row_number() OVER (PARTITION BY ${keys.join(', ')} ORDER BY ${name('_run_id')} DESC) AS ${row}`,
    `  FROM ${from}\n) AS ${name('_worktrack_log')}\nWHERE ${row} = 1${live}`,
  ].join('\n');
  return { before: [], query };
}

function view(engine: Engine, name: string, about: string | readonly string[], query: string): Statement {
  return statement('define', about, `${engine.createView} ${engine.name(name)} AS\n${query}`);
}

function isEmpty(engine: Engine, name: string): string {
  return engine.nulls === 'kept' ? `${name} IS NULL` : `coalesce(${name}, '') = ''`;
}

function typedView(
  engine: Engine,
  source: TableSource,
  columns: readonly ViewColumn[],
  from: string,
): Statement {
  const { name } = engine;
  const partitions = source.shape === 'log' ? (engine.partitions ?? []) : [];
  const casts = [
    ...columns.map((column) => `  ${typed(engine, source, column)} AS ${name(column.alias)}`),
    ...partitions.map((one) => `  ${name(one)}`),
  ];
  const about = `${source.about}, with the types seen so far. A query fails if it reads a new value that does not fit.`;
  const where = source.shape === 'run' && engine.isPart !== undefined ? `\nWHERE ${engine.isPart}` : '';
  const query = `SELECT\n${casts.join(',\n')}\nFROM ${from}${where}`;
  return view(engine, source.name, about, query);
}

/** The expression of a column in the typed view. */
export function typed(engine: Engine, source: TableSource, column: ViewColumn): string {
  const cast = castOf(engine, source, column);
  // The connector writes metadata in one form only.
  if (cast !== null)
    return META_COLUMNS.some((name) => name === column.name) ? cast.value : engine.orFail(cast);
  const name = engine.name(column.alias);
  return column.kind.type === 'text' && engine.nulls === 'kept' ? name : nonEmpty(name);
}

/**
 * The parts of the expression that casts a text only if the result is exact.
 *
 * @returns `null` for a column that is text, or that the engine has no type for
 */
function castOf(engine: Engine, { csv }: TableSource, { alias, kind }: ViewColumn): ExactCast | null {
  if (kind.type === 'text') return null;
  const cell = nonEmpty(engine.name(alias));
  const isNumber = ['int64', 'int128', 'decimal', 'double'].includes(kind.type);
  // Formula escaping puts a quote before a negative number.
  const text = isNumber && csv.escapeFormulas ? `replace(${cell}, ${engine.string("'")}, '')` : cell;
  const value = engine.cast(text, kind);
  if (value === text) return null;
  // The form rules out rounding. What has the form, but is out of range or no date, is NULL after the cast.
  const fits = `(${engine.matches(text, formOf(kind, engine.times))} AND ${value} IS NOT NULL)`;
  const message = `column ${JSON.stringify(alias)} has a new value that does not fit its type; print the statements again`;
  return { text, kind, value, fits, message };
}

/** Engines that push a cast down into their CSV reader would fail there (duckdb/duckdb#23818). NULLIF prevents it. */
function nonEmpty(name: string): string {
  return `NULLIF(${name}, '')`;
}

/** For each column that is not text, its quoted name and an aggregate that counts the values that do not fit its type. */
export function misfitCounts(
  engine: Engine,
  source: TableSource,
  columns: readonly ViewColumn[],
): { readonly name: string; readonly count: string }[] {
  return columns.flatMap((column) => {
    const cast = castOf(engine, source, column);
    if (cast === null) return [];
    const name = engine.name(column.alias);
    const count = `count(*) FILTER (WHERE NOT (${isEmpty(engine, name)}) AND NOT coalesce(${cast.fits}, false))`;
    return [{ name, count: `${count} AS ${name}` }];
  });
}
