import { columnName, META_COLUMNS } from '../rows/data-columns.js';
import { renamed, type TableColumn, tableColumns } from './column-kinds.js';
import type { Engine, Statement, TableSource } from './engine.js';
import { type ExactCast, exactCast } from './engine.js';
import { columnAliases } from './names-and-quotes.js';

/** Names that no column has: they are reserved in every dialect. */
const ROW_NUMBER = '_worktrack_row';
export const NEXT_RUN = '_worktrack_next_run';

/** The text view and the typed view of a source, in this order. */
export function viewsOf(engine: Engine, source: TableSource): Statement[] {
  const columns = columnsOf(engine, source);
  const text =
    source.shape === 'newest' ? [newestText(engine, source, columns)] : engine.text(source, columns);
  return [...text, typedView(engine, source, columns), ...(engine.check?.(source, columns) ?? [])];
}

/** The columns of a source, with the names that they have in its views. */
export function columnsOf(engine: Engine, source: TableSource): TableColumn[] {
  const { toName, reserved } = engine.aliases;
  return tableColumns(source, (names) =>
    columnAliases(names, { toName, reserved: [...reserved, ROW_NUMBER, NEXT_RUN] }),
  );
}

/** The key columns, in the order of the key. */
export function keyColumns({ key }: TableSource, columns: readonly TableColumn[]): TableColumn[] {
  return key.map((field) => columns.find(({ name }) => name === columnName(field))!);
}

/** Comment of a text view. */
export function textAbout(
  { about }: TableSource,
  { nulls }: Engine,
  columns: readonly TableColumn[],
): string[] {
  const distinct = nulls === 'kept' ? " A null is NULL, an empty string is ''." : '';
  return [`${about}, every column as text.${distinct}`, ...renamed(columns)];
}

/**
 * The newest row of each key in the change logs, which is its row in the snapshot. With `deletes: drop`, deleted rows are
 * not in the snapshot (docs/explanation/guarantees.md#deletes).
 */
function newestText(engine: Engine, source: TableSource, columns: readonly TableColumn[]): Statement {
  const { name } = engine;
  const keys = keyColumns(source, columns).map(({ alias }) => name(alias));
  const list = columns.map(({ alias }) => `  ${name(alias)}`).join(',\n');
  const row = name(ROW_NUMBER);
  const live = source.deletes === 'drop' ? ` AND ${isEmpty(engine, name('_deleted_at'))}` : '';
  return {
    kind: 'define',
    about: [
      ...textAbout(source, engine, columns),
      'It names no run, so it stays current. Each query reads the change logs of all runs.',
    ],
    sql: [
      `${engine.createView} ${name(`${source.name}_text`)} AS\nSELECT\n${list}\nFROM (`,
      `  SELECT *, row_number() OVER (PARTITION BY ${keys.join(', ')} ORDER BY ${name('_run_id')} DESC) AS ${row}`,
      `  FROM ${name(source.logText)}\n) AS ${name('_worktrack_log')}\nWHERE ${row} = 1${live}`,
    ].join('\n'),
  };
}

function isEmpty(engine: Engine, name: string): string {
  return engine.nulls === 'kept' ? `${name} IS NULL` : `coalesce(${name}, '') = ''`;
}

function typedView(engine: Engine, source: TableSource, columns: readonly TableColumn[]): Statement {
  const { name } = engine;
  const partitions = source.shape === 'log' ? (engine.partitions ?? []) : [];
  const casts = [
    ...columns.map((column) => `  ${typed(engine, source, column)} AS ${name(column.alias)}`),
    ...partitions.map((one) => `  ${name(one)}`),
  ];
  return {
    kind: 'define',
    about: [
      `${source.about}, with the types seen so far. A query fails if it reads a new value that does not fit.`,
    ],
    sql: `${engine.createView} ${name(source.name)} AS\nSELECT\n${casts.join(',\n')}\nFROM ${name(`${source.name}_text`)}`,
  };
}

/** The expression of a column in the typed view. */
export function typed(engine: Engine, source: TableSource, column: TableColumn): string {
  const cast = castOf(engine, source, column);
  // The connector writes metadata in one form only.
  if (cast !== null)
    return META_COLUMNS.some((name) => name === column.name) ? cast.value : engine.orFail(cast);
  const name = engine.name(column.alias);
  return column.kind.type === 'text' && engine.nulls === 'kept' ? name : nonEmpty(name);
}

/** @returns `null` for a column that is text in this engine */
function castOf(engine: Engine, { csv }: TableSource, { alias, kind }: TableColumn): ExactCast | null {
  if (kind.type === 'text') return null;
  const text = nonEmpty(engine.name(alias));
  const isNumber = ['int64', 'int128', 'decimal', 'double'].includes(kind.type);
  // Formula escaping puts a quote before a negative number.
  const plain = isNumber && csv.escapeFormulas ? `replace(${text}, ${engine.string("'")}, '')` : text;
  return exactCast(engine, plain, { alias, kind });
}

/** Engines that push a cast down into their CSV reader would fail there (duckdb/duckdb#23818). NULLIF prevents it. */
function nonEmpty(name: string): string {
  return `NULLIF(${name}, '')`;
}

/** For each column that is not text, its quoted name and an aggregate that counts the values that do not fit its type. */
export function misfitCounts(
  engine: Engine,
  source: TableSource,
  columns: readonly TableColumn[],
): { readonly name: string; readonly count: string }[] {
  return columns.flatMap((column) => {
    const cast = castOf(engine, source, column);
    if (cast === null) return [];
    const name = engine.name(column.alias);
    const count = `count(*) FILTER (WHERE NOT (${isEmpty(engine, name)}) AND NOT coalesce(${cast.fits}, false))`;
    return [{ name, count: `${count} AS ${name}` }];
  });
}
