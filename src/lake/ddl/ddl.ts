import type { ObjectKey } from '../../core/brands.js';
import type { DeletePolicy, LakeSettings } from '../../core/settings.js';
import { folderOf, pointerKey } from '../published/layout.js';
import { addLineBreaks, type Manifest } from '../published/manifest.js';
import type { Pointer } from '../published/pointer.js';
import { athena } from './athena.js';
import { clickhouse } from './clickhouse.js';
import { duckdb, duckdbSetup } from './duckdb.js';
import type { Numbers } from './kinds.js';
import { viewName } from './quote.js';
import { spark } from './spark.js';
import type { Engine, Statement, TableSource } from './table.js';
import { trino } from './trino.js';
import { viewsOf } from './views.js';

export type { Numbers } from './kinds.js';
export type { Statement } from './table.js';

export const DIALECTS = ['duckdb', 'athena', 'trino', 'spark', 'clickhouse'] as const;
export type Dialect = (typeof DIALECTS)[number];

/**
 * The groups of views: the snapshot of the last run, snapshots of earlier days, the change logs of all runs, and the newest
 * row of each key in these (`newest` requires `changes`).
 */
export const DDL_VIEWS = ['current', 'days', 'changes', 'newest'] as const;
export type DdlView = (typeof DDL_VIEWS)[number];

export interface DdlInput {
  readonly dialect: Dialect;
  readonly lake: LakeSettings;
  readonly resource: string;
  /** Name of the views without a suffix, before it is made plain. Default: the resource. */
  readonly view?: string | undefined;
  readonly pointer: Pointer;
  /** Manifest of the snapshot that the pointer names. */
  readonly manifest: Manifest;
  /** Snapshots of earlier days, each the last published run of its `dt`. */
  readonly days?: readonly DaySnapshot[] | undefined;
  /** Columns that the configuration masks. They have type text, whatever types were seen before. */
  readonly masked?: readonly string[] | undefined;
  /** Default: all views. */
  readonly views?: readonly DdlView[] | undefined;
  /** Default: `exact`. */
  readonly numbers?: Numbers | undefined;
  /** What happens to rows that are gone from the service. Default: `mark`. */
  readonly deletes?: DeletePolicy | undefined;
}

export interface DaySnapshot {
  /** Date of its `dt=` folder, such as `2026-11-21`. */
  readonly date: string;
  /** Key of its `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly manifest: Manifest;
}

/**
 * Statements that read one resource of a lake, in the order in which to run them: `<resource>` and `<resource>_text`
 * for the snapshot of the last run, `<resource>_on_2026_11_21` for each given day, `<resource>_changes` for all change logs,
 * and `<resource>_newest` for the newest row of each key in these. The first two name a run and must be generated again to
 * read a later one. The others must be generated again only when a column is added or the kind of its values changes.
 *
 * @throws RangeError if the dialect cannot read the lake, or not the line breaks in its cells
 */
export function ddlStatements(input: DdlInput): Statement[] {
  const { dialect, lake, resource, pointer, manifest } = input;
  const name = viewName(input.view ?? resource);
  const common = {
    lake,
    pointer: pointerKey(resource),
    masked: new Set(input.masked ?? []),
    numbers: input.numbers ?? 'exact',
    deletes: input.deletes ?? 'mark',
    resource,
    logText: `${name}_changes_text`,
  };
  const ofRun = (view: string, about: string, snapshot: ObjectKey, run: Manifest): TableSource => ({
    ...common,
    name: view,
    about,
    folder: folderOf(snapshot),
    shape: 'run',
    columns: run.columns,
    key: run.key,
    csv: run.csv,
    lineBreaks: addLineBreaks(0, run.parts),
  });
  const ofLog = (view: string, about: string, shape: 'log' | 'newest'): TableSource => ({
    ...ofRun(view, about, pointer.snapshot, manifest),
    folder: `${resource}/changes` as ObjectKey,
    shape,
    lineBreaks: manifest.changesLineBreaks ?? null,
  });
  const sources: Readonly<Record<DdlView, () => TableSource[]>> = {
    current: () => [ofRun(name, `${resource} as of run ${pointer.runId}`, pointer.snapshot, manifest)],
    days: () =>
      (input.days ?? []).map((day) =>
        ofRun(dayView(name, day.date), `${resource} on ${day.date}`, day.snapshot, day.manifest),
      ),
    changes: () => [
      ofLog(`${name}_changes`, `New, changed and deleted rows of each run of ${resource}`, 'log'),
    ],
    newest: () => [
      ofLog(`${name}_newest`, `${resource} as of the last published run, from the change logs`, 'newest'),
    ],
  };
  const setup = dialect === 'duckdb' ? duckdbSetup(lake) : [];
  return [
    ...setup,
    ...(input.views ?? DDL_VIEWS)
      .flatMap((view) => sources[view]())
      .flatMap((source) => readable(ENGINES[dialect], source)),
  ];
}

/** @throws RangeError if the engine cannot read the line breaks inside cells of the source */
function readable(engine: Engine, source: TableSource): Statement[] {
  const { lineBreaks, csv, name, resource } = source;
  const reader = engine.splitsAtLineBreaks;
  const [first, ...others] = viewsOf(engine, source);
  if (reader === undefined || lineBreaks === 0) return [first!, ...others];
  if (lineBreaks !== null) {
    const remedy =
      csv.lineBreaks === 'escape'
        ? 'Earlier runs wrote them. A new lake URL starts with escaped change logs'
        : `Set \`csv: { lineBreaks: escape }\` for ${resource}, and export again`;
    throw new RangeError(
      `${name}: its files have ${lineBreaks} line ${lineBreaks === 1 ? 'break' : 'breaks'} inside cells, and ${reader} takes each for the end of a row. ${remedy}`,
    );
  }
  const about = `${reader} cannot read line breaks inside cells. Version 0.1, which wrote some of these files, did not count them.`;
  return [{ ...first!, about: [...first!.about, about] }, ...others];
}

/**
 * The views of a resource whose files have line breaks inside cells that the engine cannot read. `ddlStatements` throws for
 * these.
 */
export function unreadableViews({ dialect, manifest }: Pick<DdlInput, 'dialect' | 'manifest'>): DdlView[] {
  if (ENGINES[dialect].splitsAtLineBreaks === undefined) return [];
  const current = (addLineBreaks(0, manifest.parts) ?? 0) > 0;
  const log = (manifest.changesLineBreaks ?? 0) > 0;
  return [...(current ? ['current' as const] : []), ...(log ? (['changes', 'newest'] as const) : [])];
}

function dayView(name: string, date: string): string {
  return `${name}_on_${viewName(date).slice(1)}`;
}

/** Two resources whose views would have the same name, so that one would replace the other; `null` for none. */
export function clashingResources(resources: readonly string[]): readonly [string, string] | null {
  const owners = new Map<string, string>();
  for (const resource of resources) {
    const name = viewName(resource);
    const views = [name, `${name}_changes`, `${name}_newest`].flatMap((view) => [view, `${view}_text`]);
    for (const view of [...views, `${name}_changes_files`, `${name}_changes_latest`]) {
      const owner = owners.get(view);
      if (owner !== undefined) return [owner, resource];
      owners.set(view, resource);
    }
  }
  return null;
}

const ENGINES: Readonly<Record<Dialect, Engine>> = { duckdb, athena, trino, spark, clickhouse };

/**
 * Renders a script of the statements with their comments, without duplicates. Only `define` statements are active.
 * Checks are commented out because each reads all the data; setup is commented out because the session may have it.
 */
export function renderDdl(statements: readonly Statement[]): string {
  const all = new Map(statements.map((statement) => [statement.sql, statement]));
  return [...all.values()]
    .map(({ kind, about, sql }) => {
      const comments = about.map(comment).join('');
      return kind === 'define'
        ? `${comments}${sql};\n`
        : `${comments}${`${sql};`.split('\n').map(comment).join('')}`;
    })
    .join('\n');
}

/** Renders text as a one-line comment. Line breaks are replaced, because they would end the comment. */
function comment(line: string): string {
  return `-- ${line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}\n`;
}
