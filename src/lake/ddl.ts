import type { ObjectKey } from '../core/brands.js';
import type { LakeSettings } from '../core/settings.js';
import { athenaTable } from './ddl/athena.js';
import { duckdbSetup, duckdbTable } from './ddl/duckdb.js';
import { viewName } from './ddl/quote.js';
import { sparkTable } from './ddl/spark.js';
import type { Integers, Statement, TableSource } from './ddl/table.js';
import { folderOf, pointerKey } from './layout.js';
import type { Manifest } from './manifest.js';
import type { Pointer } from './pointer.js';

export type { Integers, Statement } from './ddl/table.js';

export const DIALECTS = ['duckdb', 'athena', 'spark'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** What statements are made for: the current snapshot, days of the past, the change logs of all runs. */
export const DDL_VIEWS = ['current', 'days', 'changes'] as const;
export type DdlView = (typeof DDL_VIEWS)[number];

export interface DdlInput {
  readonly dialect: Dialect;
  readonly lake: LakeSettings;
  readonly resource: string;
  readonly pointer: Pointer;
  /** Of the snapshot that the pointer names. */
  readonly manifest: Manifest;
  /** Snapshots of the past to be read too: for a `dt`, its last published run. */
  readonly days?: readonly DaySnapshot[] | undefined;
  /** Columns that are masked by the configuration: they are texts, whatever types were seen. */
  readonly masked?: readonly string[] | undefined;
  /** Default: all of them. */
  readonly views?: readonly DdlView[] | undefined;
  /** Default: `bigint`. */
  readonly integers?: Integers | undefined;
}

export interface DaySnapshot {
  /** Of its `dt=`, `2026-11-21`. */
  readonly date: string;
  /** Key of its `_datapackage.json`. */
  readonly snapshot: ObjectKey;
  readonly manifest: Manifest;
}

/**
 * Statements that read one resource of a lake, in the order in which they are to be run: `<resource>` and
 * `<resource>_text` for the current snapshot, `<resource>_on_2026_11_21` for each day given, `<resource>_changes`
 * for all change logs. They hold for the columns of today: after new ones appear, they are to be made anew, and
 * where they name a run (all but DuckDB's change log do) after every export.
 *
 * @throws RangeError where the dialect cannot read the lake
 */
export function ddlStatements(input: DdlInput): Statement[] {
  const { dialect, lake, resource, pointer, manifest } = input;
  const name = viewName(resource);
  const common = {
    lake,
    pointer: pointerKey(resource),
    masked: new Set(input.masked ?? []),
    integers: input.integers ?? 'bigint',
  };
  const ofRun = (view: string, about: string, snapshot: ObjectKey, run: Manifest): TableSource => ({
    ...common,
    name: view,
    about,
    folder: folderOf(snapshot),
    shape: 'run',
    runId: run.runId,
    columns: run.columns,
    csv: run.csv,
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
          `What each run found new or changed in ${resource}`,
          pointer.snapshot,
          manifest,
        ),
        folder: `${resource}/changes` as ObjectKey,
        shape: 'tree',
      },
    ],
  };
  const setup = dialect === 'duckdb' ? duckdbSetup(lake) : [];
  return [
    ...setup,
    ...(input.views ?? DDL_VIEWS).flatMap((view) => sources[view]()).flatMap(TABLES[dialect]),
  ];
}

function dayView(resource: string, date: string): string {
  return `${viewName(resource)}_on_${viewName(date).slice(1)}`;
}

/** Two resources whose views would have the same name, so that one would take the other's place; `null` for none. */
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

const TABLES: Readonly<Record<Dialect, (source: TableSource) => Statement[]>> = {
  duckdb: duckdbTable,
  athena: athenaTable,
  spark: sparkTable,
};

/**
 * A script of the statements with their comments, each once. Only what defines something is run by it: a check costs a
 * whole read, and a set-up may be there already, or be made in another way.
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

/** One line, whatever the text holds: a break in it would end the comment. */
function comment(line: string): string {
  return `-- ${line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}\n`;
}
