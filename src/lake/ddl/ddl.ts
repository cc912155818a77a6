import type { ObjectKey } from '../../core/brands.js';
import type { DeletePolicy, LakeSettings } from '../../core/settings.js';
import { folderOf, pointerKey } from '../published/layout.js';
import type { Manifest } from '../published/manifest.js';
import type { Pointer } from '../published/pointer.js';
import { athena } from './athena.js';
import { duckdb, duckdbSetup } from './duckdb.js';
import type { Numbers } from './kinds.js';
import { viewName } from './quote.js';
import { spark } from './spark.js';
import type { Engine, Statement, TableSource } from './table.js';
import { viewsOf } from './views.js';

export type { Numbers } from './kinds.js';
export type { Statement } from './table.js';

export const DIALECTS = ['duckdb', 'athena', 'spark'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** The groups of views: the current snapshot, snapshots of earlier days, the change logs of all runs. */
export const DDL_VIEWS = ['current', 'days', 'changes'] as const;
export type DdlView = (typeof DDL_VIEWS)[number];

export interface DdlInput {
  readonly dialect: Dialect;
  readonly lake: LakeSettings;
  readonly resource: string;
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
 * for the current snapshot, `<resource>_on_2026_11_21` for each given day, `<resource>_changes` for all change logs.
 * Generate them again when a column is added. Statements that name a run (all except DuckDB's change log view) must
 * be generated again after every export.
 *
 * @throws RangeError if the dialect cannot read the lake
 */
export function ddlStatements(input: DdlInput): Statement[] {
  const { dialect, lake, resource, pointer, manifest } = input;
  const name = viewName(resource);
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
    lineBreaks: null,
  });
  const sources: Readonly<Record<DdlView, () => TableSource[]>> = {
    current: () => [ofRun(name, `${resource} as of run ${pointer.runId}`, pointer.snapshot, manifest)],
    days: () =>
      (input.days ?? []).map((day) =>
        ofRun(dayView(resource, day.date), `${resource} on ${day.date}`, day.snapshot, day.manifest),
      ),
    changes: () => [
      {
        ...ofRun(
          `${name}_changes`,
          `New, changed and deleted rows of each run of ${resource}`,
          pointer.snapshot,
          manifest,
        ),
        folder: `${resource}/changes` as ObjectKey,
        shape: 'log',
      },
    ],
  };
  const setup = dialect === 'duckdb' ? duckdbSetup(lake) : [];
  return [
    ...setup,
    ...(input.views ?? DDL_VIEWS)
      .flatMap((view) => sources[view]())
      .flatMap((source) => viewsOf(ENGINES[dialect], source)),
  ];
}

function dayView(resource: string, date: string): string {
  return `${viewName(resource)}_on_${viewName(date).slice(1)}`;
}

/** Two resources whose views would have the same name, so that one would replace the other; `null` for none. */
export function clashingResources(resources: readonly string[]): readonly [string, string] | null {
  const owners = new Map<string, string>();
  for (const resource of resources) {
    const name = viewName(resource);
    for (const view of [name, `${name}_text`, `${name}_changes`, `${name}_changes_text`]) {
      const owner = owners.get(view);
      if (owner !== undefined) return [owner, resource];
      owners.set(view, resource);
    }
  }
  return null;
}

const ENGINES: Readonly<Record<Dialect, Engine>> = { duckdb, athena, spark };

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
