import { type ConnectionReport, type ResourceReport, warningsOf } from './model.js';
import { count, span, time } from './text.js';

/** The state of a resource; the first ones need attention most. */
export const STATES = [
  'unreadable',
  'owned by another writer',
  'refused',
  'failed',
  'retrying',
  'stale',
  'never published',
  'cancelled',
  'warning',
  'running',
  'fresh',
] as const;

export type State = (typeof STATES)[number];

/** States that need no attention. */
const HEALTHY: readonly State[] = ['running', 'fresh'];

export interface Judged {
  readonly connection: ConnectionReport;
  readonly report: ResourceReport;
  readonly state: State;
  /** What happened and what to do, without the times, which differ between resources; `null` if healthy. */
  readonly cause: string | null;
  /** When the state began, in milliseconds since 1970. */
  readonly since: number | null;
  /** Number of failed runs since the last published one. */
  readonly failures: number;
}

/** Judges each resource. The order is that of the configuration, after those that need attention. */
export function judgeAll(connections: readonly ConnectionReport[], maxAgeMs: number): readonly Judged[] {
  const all = connections.flatMap((connection) =>
    connection.resources.map((report) => judge(connection, report, maxAgeMs)),
  );
  return all.sort((a, b) => rank(a) - rank(b));
}

export function needsAttention({ state }: Pick<Judged, 'state'>): boolean {
  return !HEALTHY.includes(state);
}

function rank(judged: Judged): number {
  return needsAttention(judged) ? STATES.indexOf(judged.state) : STATES.length;
}

function judge(connection: ConnectionReport, report: ResourceReport, maxAgeMs: number): Judged {
  const { runs, unpublished, problem, at } = report;
  const [last] = runs;
  const active = unpublished.find(({ outcome }) => outcome === 'running');
  const failures = unpublished.filter(
    ({ outcome, startedAt }) => outcome !== 'running' && startedAt > (last?.startedAt ?? -Infinity),
  );
  const [newest] = failures;
  const judged = (state: State, cause: string | null, since: number | null = null): Judged => ({
    ...{ connection, report, state, cause, since },
    failures: failures.length,
  });
  const command = (name: string) => `worktrack ${name} --connection ${connection.connection}`;

  if (problem !== null) return judged('unreadable', problem);
  if (report.owner !== undefined) return judged('owned by another writer', capitalized(report.owner));
  if (active !== undefined && active.retrying !== null)
    return judged('retrying', active.retrying, active.startedAt);
  if (newest !== undefined && (newest.outcome === 'failed' || newest.outcome === 'refused')) {
    const cause = newest.error?.message ?? 'The cause is unknown.';
    return judged(newest.outcome, cause, failures.at(-1)!.startedAt);
  }
  if (last === undefined) {
    if (active !== undefined) return judged('running', null, active.startedAt);
    return judged('never published', `No run is published yet. Start one with: ${command('export')}`);
  }
  const dataFrom = Date.parse(last.checkpoint);
  if (at - dataFrom > maxAgeMs) {
    const advice = `Check the schedule and the worker: ${command('status')}`;
    return judged('stale', active === undefined ? advice : 'A run is in progress.', dataFrom);
  }
  if (newest !== undefined) return judged('cancelled', 'The last run was cancelled.', newest.startedAt);
  const [warning, ...more] = warningsOf(last);
  if (warning !== undefined) {
    return judged('warning', more.length === 0 ? warning : `${warning} (and ${count(more.length)} more)`);
  }
  return active === undefined ? judged('fresh', null) : judged('running', null, active.startedAt);
}

/** The times of resources with the same cause: `5 failed runs since 2026-11-17 02:00 UTC`; empty if there are none. */
export function when(group: readonly Judged[]): string {
  const [{ state, failures, report }] = group as [Judged];
  const since = Math.min(...group.map((one) => one.since ?? Number.POSITIVE_INFINITY));
  const most = Math.max(failures, ...group.map((one) => one.failures));
  switch (state) {
    case 'failed':
    case 'refused':
      return most === 1 ? `Run of ${time(since)}` : `${count(most)} failed runs since ${time(since)}`;
    case 'cancelled':
      return `Run of ${time(since)}`;
    case 'retrying':
      return `The run of ${time(since)} is retrying`;
    case 'stale':
      return `Data as of ${time(since)}, ${span(report.at - since)} old`;
    default:
      return '';
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
