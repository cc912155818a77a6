import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DateTime } from 'luxon';
import { errorMessage } from '../../core/errors.js';
import { folderOf } from '../../lake/documents/lake-layout.js';
import { readPublished } from '../../lake/published/read-published.js';
import { readRecords } from '../../lake/published/read-rows.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { FigureGroup } from '../../report/index.js';
import { cacheRoot, findExecutable, pathFolders, runCommand } from '../../servers/index.js';
import { count, cut, table } from '../shared/output.js';

export interface HoursRow {
  readonly project: string;
  /** The Monday, such as `2026-11-16`. */
  readonly week: string;
  readonly hours: number;
}

export interface Hours {
  readonly rows: readonly HoursRow[];
  readonly by: string;
}

/** The most recent weeks, and the projects with the most hours, that the table shows. */
const WEEKS = 6;
const PROJECTS = 5;
const LONGEST_NAME = 26;

/** The query of the demo, for the current snapshots in a folder. */
export async function hoursSql(store: ObjectStore, lakeFolder: string): Promise<string> {
  const source = async (resource: string): Promise<string> => {
    const { snapshot } = await readPublished(store, resource);
    const files = `${lakeFolder}/${folderOf(snapshot)}/*.csv.gz`.replaceAll("'", "''");
    return `read_csv('${files}', header = true, all_varchar = true, allow_quoted_nulls = false)`;
  };
  return `SELECT p.name AS project,
       CAST(date_trunc('week', CAST(left(e."startedAt", 10) AS DATE)) AS VARCHAR)[:10] AS week,
       CAST(sum(CAST(e."durationSeconds" AS BIGINT)) AS DOUBLE) / 3600 AS hours
FROM ${await source('time-entries')} e
JOIN ${await source('projects')} p ON p.id = e."projectId"
WHERE e._deleted_at IS NULL
GROUP BY ALL
ORDER BY project, week`;
}

/** Runs the query with DuckDB; without DuckDB, computes the same from the lake, and says so. */
export async function readHours(
  store: ObjectStore,
  sql: string,
  note: (text: string) => void,
): Promise<Hours> {
  const found = await findDuckdb(note);
  try {
    if (found !== null) {
      const rows = (await found.query(sql)).map(({ project, week, hours }) => ({
        ...{ project: String(project), week: String(week), hours: Number(hours) },
      }));
      return { rows, by: found.name };
    }
  } catch (error) {
    note(`DuckDB failed: ${errorMessage(error).split('\n')[0]}`);
  }
  return { rows: await computeHours(store), by: 'this command, without DuckDB' };
}

/** The result of `hoursSql`, computed from the current snapshots. */
export async function computeHours(store: ObjectStore): Promise<HoursRow[]> {
  const names = new Map<string, string>();
  const projects = await readPublished(store, 'projects');
  for await (const { id, name } of readRecords(store, projects.manifest, { rows: 'all' }))
    if (id) names.set(id, name ?? '');
  const seconds = new Map<string, HoursRow>();
  const { manifest } = await readPublished(store, 'time-entries');
  for await (const { projectId, startedAt, durationSeconds } of readRecords(store, manifest)) {
    const project = names.get(projectId ?? '');
    if (project === undefined || !startedAt) continue;
    // Its Monday.
    const week = DateTime.fromISO(startedAt.slice(0, 10), { zone: 'utc' }).startOf('week').toISODate()!;
    const key = `${project}\n${week}`;
    const hours = (seconds.get(key)?.hours ?? 0) + Number(durationSeconds ?? 0);
    seconds.set(key, { project, week, hours });
  }
  return [...seconds.values()]
    .map((row) => ({ ...row, hours: row.hours / 3600 }))
    .sort((a, b) => compare(a.project, b.project) || compare(a.week, b.week));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A table of the last weeks: the projects with the most hours, the others together, and the sum. */
export function hoursTable({ rows }: Hours): string[] {
  const weeks = weeksOf(rows).slice(-WEEKS);
  const shown = rows.filter(({ week }) => weeks.includes(week));
  const names = byHours(shown);
  const line = (name: string, of: (row: HoursRow) => boolean): string[] => {
    const own = shown.filter(of);
    const cells = weeks.map((week) => sum(own.filter((row) => row.week === week)));
    return [`   ${name}`, ...[...cells, sum(own)].map((hours) => count(hours))];
  };
  const [top, rest] = [names.slice(0, PROJECTS), names.slice(PROJECTS)];
  const others =
    rest.length === 0 ? [] : [line(`${rest.length} others`, ({ project }) => rest.includes(project))];
  return table(
    [
      ['   week from', ...weeks.map((week) => week.slice(5)), 'sum'],
      ...top.map((name) => line(cut(name, LONGEST_NAME), ({ project }) => project === name)),
      ...others,
      line('all projects', () => true),
    ],
    [...weeks.map((_, at) => at + 1), weeks.length + 1],
  );
}

/** The charts for the report: the hours of each project by week. */
export function hoursFigures({ rows, by }: Hours): FigureGroup {
  const weeks = weeksOf(rows);
  const figures = byHours(rows).map((name) => ({
    name,
    values: weeks.map((week) => ({
      label: week,
      value: sum(rows.filter((row) => row.project === name && row.week === week)),
    })),
  }));
  const note = `Booked time in the current snapshot, by the Monday of the week. Computed by ${by}.`;
  return { title: 'Hours by project and week', note, unit: 'h', figures };
}

function weeksOf(rows: readonly HoursRow[]): string[] {
  return [...new Set(rows.map(({ week }) => week))].sort();
}

function byHours(rows: readonly HoursRow[]): string[] {
  const sums = new Map<string, number>();
  for (const { project, hours } of rows) sums.set(project, (sums.get(project) ?? 0) + hours);
  return [...sums].sort(([, a], [, b]) => b - a).map(([name]) => name);
}

function sum(rows: readonly HoursRow[]): number {
  return rows.reduce((all, { hours }) => all + hours, 0);
}

const PACKAGE = '@duckdb/node-api';
/** The version that this package is tested with. */
const VERSION = '1.5.5-r.5';
const INSTALL_MS = 90_000;
/** A query of the demo takes less than a second. */
const COMMAND_MS = 30_000;

type Row = Readonly<Record<string, unknown>>;

interface Duckdb {
  /** For example `DuckDB 1.5.5`. */
  readonly name: string;
  query(sql: string): Promise<readonly Row[]>;
}

/** The part of `@duckdb/node-api` that the demo uses. */
interface NodeApi {
  version(): string;
  readonly DuckDBInstance: {
    create(path: string): Promise<{
      connect(): Promise<{
        runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Row[] }>;
        closeSync(): void;
      }>;
    }>;
  };
}

/**
 * Finds DuckDB: the command on PATH, or the npm package next to this one, or the npm package in the cache folder, into
 * which it is installed if necessary.
 *
 * @param note shows what takes time, and why there is none
 */
async function findDuckdb(note: (text: string) => void): Promise<Duckdb | null> {
  const command = await findExecutable('duckdb', pathFolders(process.env));
  if (command !== null) {
    const found = await fromCommand(command).catch(() => null);
    if (found !== null) return found;
  }
  const folder = join(cacheRoot(process.env), `duckdb-${VERSION}-${process.platform}-${process.arch}`);
  for (const from of [import.meta.url, pathToFileURL(join(folder, 'x.js')).href]) {
    const found = await fromPackage(from).catch(() => null);
    if (found !== null) return found;
  }
  try {
    note('Installing DuckDB from the npm registry, once');
    await install(folder);
    return await fromPackage(pathToFileURL(join(folder, 'x.js')).href);
  } catch {
    note(
      'DuckDB is not available: npm could not install it. To use it, install the command duckdb (https://duckdb.org).',
    );
    return null;
  }
}

async function fromCommand(executable: string): Promise<Duckdb> {
  const run = (...args: string[]): Promise<string> =>
    runCommand(executable, args, { env: process.env, signal: AbortSignal.timeout(COMMAND_MS) });
  const version = /^v?(\d+\.\d+\S*)/.exec((await run('--version')).trim())?.[1];
  if (version === undefined) throw new Error(`${executable} is not DuckDB`);
  return {
    name: `DuckDB ${version}`,
    query: async (sql) => JSON.parse((await run('-json', '-c', sql)) || '[]') as Row[],
  };
}

async function fromPackage(from: string): Promise<Duckdb> {
  const file = createRequire(from).resolve(PACKAGE);
  const module = (await import(pathToFileURL(file).href)) as NodeApi & { readonly default?: NodeApi };
  const { DuckDBInstance, version } = module.default ?? module;
  return {
    name: `DuckDB ${version().replace(/^v/, '')}`,
    async query(sql) {
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      try {
        return (await connection.runAndReadAll(sql)).getRowObjectsJson();
      } finally {
        connection.closeSync();
      }
    },
  };
}

async function install(folder: string): Promise<void> {
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', '--fetch-retries=1'];
  const signal = AbortSignal.timeout(INSTALL_MS);
  // `npx` names its own npm, which may not be on PATH.
  const npm = process.env.npm_execpath;
  const own = npm?.endsWith('.js') ? ([process.execPath, [npm]] as const) : (['npm', []] as const);
  await runCommand(own[0], [...own[1], ...args, `${PACKAGE}@${VERSION}`], { env: process.env, signal });
}
