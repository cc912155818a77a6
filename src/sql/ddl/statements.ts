import type { ObjectKey } from '../../core/brands.js';
import type { LakeSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import { addLineBreaks, type Manifest } from '../../lake/documents/manifest.js';
import { athena, trino } from './athena-and-trino.js';
import { clickhouse } from './clickhouse.js';
import { duckdb, duckdbSetup } from './duckdb-views.js';
import { type Engine, type Statement, type TableSource, viewStatements } from './engine-views.js';
import {
  baseName,
  checkLineBreaks,
  logSource,
  type PublishedResource,
  runSource,
} from './published-sources.js';
import { spark, sparkSetup } from './spark.js';

export type { Numbers } from './column-kinds.js';
export type { Statement } from './engine-views.js';

export const DIALECTS = ['duckdb', 'athena', 'trino', 'spark', 'clickhouse'] as const;
export type Dialect = (typeof DIALECTS)[number];

/**
 * The groups of views: the snapshot of the last run, snapshots of earlier days, the change logs of all runs, and the newest
 * row of each key in these (`newest` requires `changes`).
 */
export const DDL_VIEWS = ['current', 'days', 'changes', 'newest'] as const;
export type DdlView = (typeof DDL_VIEWS)[number];

export interface DdlInput extends PublishedResource {
  readonly dialect: Dialect;
  /** Snapshots of earlier days, each the last published run of its `dt`. */
  readonly days?: readonly DaySnapshot[] | undefined;
  /** Default: all but `newest`. */
  readonly views?: readonly DdlView[] | undefined;
  /**
   * Also views with every value as text, and checks of the types. Default: no. Athena, Trino and Spark read a snapshot through a
   * table of text in any case.
   */
  readonly text?: boolean | undefined;
}

export interface DaySnapshot {
  /** Date of its `dt=` folder, such as `2026-11-21`. */
  readonly date: string;
  /** Key of its `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly manifest: Manifest;
}

/**
 * Statements that read one resource of a lake, in the order to run them: `<resource>` for the snapshot of the last run,
 * `<resource>_on_2026_11_21` for each given day, `<resource>_changes` for all change logs, and on request `<resource>_newest`
 * for the newest row of each key in these, and each view as text, with the suffix `_text`. The first one names a run and must
 * be generated again to read a later one, except in a session of DuckDB that runs the statements, which sets variables from
 * `latest.json`. The others must be generated again only when a column is added or the kind of its values changes.
 *
 * @throws RangeError if the dialect cannot read the lake, or not the line breaks in its cells
 * @example
 * const { pointer, manifest } = await readPublished(store, 'tasks');
 * const input = { dialect: 'duckdb', lake: connection.lake, resource: 'tasks', pointer, manifest } as const;
 * console.log(renderDdl(ddlStatements(input)));
 */
export function ddlStatements(input: DdlInput): Statement[] {
  const { dialect, lake, resource, pointer } = input;
  const engine = ENGINES[dialect];
  const name = baseName(input);
  const current = { name, about: `${resource} as of run ${pointer.runId}` };
  const sources: Readonly<Record<DdlView, () => TableSource[]>> = {
    current: () => [
      {
        ...runSource(input, current, { snapshot: pointer.snapshot, manifest: input.manifest }),
        isCurrent: true,
      },
    ],
    days: () =>
      (input.days ?? []).map((day) => {
        const view = `${name}_on_${viewName(day.date).slice(1)}`;
        return runSource(input, { name: view, about: `${resource} on ${day.date}` }, day);
      }),
    changes: () => [logSource(input, 'log')],
    newest: () => [logSource(input, 'newest')],
  };
  return [
    ...(SETUP[dialect]?.(lake) ?? []),
    ...(input.views ?? DDL_VIEWS.filter((view) => view !== 'newest'))
      .flatMap((view) => sources[view]())
      .flatMap((source) => {
        const statements = viewStatements(engine, source, input.text === true ? 'views' : 'inline');
        // After the views: a lake that the engine cannot read is the more important reason.
        checkLineBreaks(engine, source);
        return statements;
      }),
  ];
}

/** Athena refuses longer statements. */
export const ATHENA_STATEMENT_BYTES = 262_144;

/** The first line of each statement that its engine does not accept because of its length. */
export function tooLongStatements(dialect: string, statements: readonly Statement[]): string[] {
  if (dialect !== 'athena') return [];
  return statements
    .filter(({ sql }) => Buffer.byteLength(sql) > ATHENA_STATEMENT_BYTES)
    .map(({ sql }) => sql.slice(0, sql.indexOf('\n')));
}

/**
 * The views of a resource whose files have line breaks inside cells that the engine cannot read. `ddlStatements` throws for
 * these.
 *
 * @example
 * const { manifest } = await readPublished(store, 'tasks');
 * const views = unreadableViews({ dialect: 'athena', manifest });
 */
export function unreadableViews({ dialect, manifest }: Pick<DdlInput, 'dialect' | 'manifest'>): DdlView[] {
  if (ENGINES[dialect].splitsAtLineBreaks === undefined) return [];
  const current = addLineBreaks(0, manifest.parts) > 0;
  const log = manifest.changesLineBreaks > 0;
  return [...(current ? ['current' as const] : []), ...(log ? (['changes', 'newest'] as const) : [])];
}

/**
 * Two resources whose views would have the same name, so that one would replace the other; `null` for none.
 *
 * @example
 * const clash = clashingResources(connection.resources.map(({ name }) => name));
 * if (clash !== null) throw new Error(`${clash.join(' and ')} would have the same views`);
 */
export function clashingResources(resources: readonly string[]): readonly [string, string] | null {
  return firstClash(resources, (name) => {
    const views = [name, `${name}_changes`, `${name}_newest`].flatMap((view) => [view, `${view}_text`]);
    return [...views, `${name}_changes_files`, `${name}_changes_latest`];
  });
}

/**
 * Two names whose tables would have the same name in an engine; `null` for none.
 *
 * @example
 * const clash = clashingTables(['my-tasks', 'my_tasks']);
 */
export function clashingTables(names: readonly string[]): readonly [string, string] | null {
  return firstClash(names, (name) => [name]);
}

/** @param takenBy what gets a name, from the plain name of an owner */
function firstClash(
  owners: readonly string[],
  takenBy: (name: string) => readonly string[],
): readonly [string, string] | null {
  const taken = new Map<string, string>();
  for (const owner of owners) {
    for (const name of takenBy(viewName(owner))) {
      const other = taken.get(name);
      if (other !== undefined) return [other, owner];
      taken.set(name, owner);
    }
  }
  return null;
}

/** Statements that a session needs before it can read the lake. The other engines are configured outside of SQL. */
const SETUP: Readonly<Partial<Record<Dialect, (lake: LakeSettings) => Statement[]>>> = {
  duckdb: duckdbSetup,
  spark: sparkSetup,
};

const ENGINES: Readonly<Record<Dialect, Engine>> = { duckdb, athena, trino, spark, clickhouse };

/**
 * Renders a script of the statements with their comments, without duplicates. Statements that define views or
 * tables are active. Checks are comments because each reads all the data. Setup is a comment unless `setup` is set, because
 * the session may have it.
 *
 * @example
 * const { pointer, manifest } = await readPublished(store, 'tasks');
 * const input = { dialect: 'trino', lake: connection.lake, resource: 'tasks', pointer, manifest } as const;
 * await writeFile('lake.sql', renderDdl(ddlStatements(input)));
 */
export function renderDdl(
  statements: readonly Statement[],
  { setup = false }: { readonly setup?: boolean } = {},
): string {
  const all = new Map(statements.map((statement) => [statement.sql, statement]));
  return [...all.values()]
    .map(({ kind, about, sql }) => {
      const comments = about.map(comment).join('');
      return kind === 'define' || (setup && kind === 'setup')
        ? `${comments}${sql};\n`
        : `${comments}${`${sql};`.split('\n').map(comment).join('')}`;
    })
    .join('\n');
}

/** Renders text as a one-line comment. Line breaks are replaced, because they would end the comment. */
function comment(line: string): string {
  return `-- ${line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}\n`;
}
