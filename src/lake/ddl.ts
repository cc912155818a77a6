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
  const sources: TableSource[] = [
    ofRun(name, `${resource} as of run ${pointer.runId}`, pointer.snapshot, manifest),
    ...(input.days ?? []).map((day) =>
      ofRun(
        `${name}_on_${viewName(day.date).slice(1)}`,
        `${resource} on ${day.date}`,
        day.snapshot,
        day.manifest,
      ),
    ),
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
  ];
  const setup = dialect === 'duckdb' ? duckdbSetup(lake) : [];
  return [...setup, ...sources.flatMap(TABLES[dialect])];
}

const TABLES: Readonly<Record<Dialect, (source: TableSource) => Statement[]>> = {
  duckdb: duckdbTable,
  athena: athenaTable,
  spark: sparkTable,
};

/** A script of the statements with their comments; checks are comments themselves, for each costs a whole read. */
export function renderDdl(statements: readonly Statement[]): string {
  return statements
    .map(({ kind, about, sql }) => {
      const comments = about.map(comment).join('');
      return kind === 'define'
        ? `${comments}${sql};\n`
        : `${comments}${sql.split('\n').map(comment).join('')}`;
    })
    .join('\n');
}

/** One line, whatever the text holds: a break in it would end the comment. */
function comment(line: string): string {
  return `-- ${line.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}\n`;
}
