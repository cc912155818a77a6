import { DateTime } from 'luxon';
import { errorMessage, WorktrackError } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { readPublished } from '../../lake/published/read-published.js';
import { readRecords } from '../../lake/published/read-rows.js';
import { type ObjectStore, openStore } from '../../lake/store/index.js';
import type { FigureGroup } from '../../report/index.js';
import { queryLake } from '../../sql/index.js';
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

/** The query of the demo, for `worktrack query`. */
export const HOURS_SQL = `SELECT p.name AS project,
       strftime(date_trunc('week', CAST(left(CAST(e."startedAt" AS VARCHAR), 10) AS DATE)), '%Y-%m-%d') AS week,
       CAST(sum(CAST(e."durationSeconds" AS BIGINT)) AS DOUBLE) / 3600 AS hours
FROM time_entries e
JOIN projects p ON p.id = e."projectId"
WHERE e._deleted_at IS NULL
GROUP BY ALL
ORDER BY project, week`;

/** Runs the query; without DuckDB, computes the same from the lake, and says so. @param cacheFolder for fetched parts */
export async function readHours(
  connection: ConnectionSettings,
  cacheFolder: string,
  note: (text: string) => void,
): Promise<Hours> {
  try {
    const rows: HoursRow[] = [];
    const { texts } = await queryLake(connection, HOURS_SQL, { cacheFolder });
    for await (const [project, week, hours] of texts())
      rows.push({ project: String(project), week: String(week), hours: Number(hours) });
    return { rows, by: 'DuckDB' };
  } catch (error) {
    note(error instanceof WorktrackError ? error.describe() : errorMessage(error));
  }
  const store = openStore(connection.lake);
  try {
    return { rows: await computeHours(store), by: 'this command, without DuckDB' };
  } finally {
    store.close();
  }
}

/** The result of `HOURS_SQL`, computed from the current snapshots. */
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
