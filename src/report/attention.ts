import type { EpochMs } from '../core/brands.js';
import type { ResourceState } from '../core/find-problems.js';
import { endedAfter, RESOURCE_STATES, STATE_NAMES } from '../core/resource-state.js';
import { age, count, time } from '../core/short-text.js';
import { type ConnectionReport, type ResourceReport, shownWarnings } from './model.js';

/** How the page shows a state. */
type Tone = 'bad' | 'warn' | 'ok';

const WARN: readonly ResourceState[] = ['rolled-back', 'never-run', 'cancelled'];

/** A resource in the order of the page, with what a person should know about it first. */
export interface ListedResource {
  readonly connection: ConnectionReport;
  readonly report: ResourceReport;
  readonly tone: Tone;
  /** What happened and what to do, without the times, which differ between resources; `null` if all is well. */
  readonly cause: string | null;
  /** When the state began. */
  readonly since: EpochMs | null;
  /** Number of failed runs since the last published one. */
  readonly failures: number;
}

/** All resources: those that need attention first, the others in the order of the configuration. */
export function listResources(connections: readonly ConnectionReport[]): readonly ListedResource[] {
  const all = connections.flatMap((connection) =>
    connection.resources.map((report) => listed(connection, report)),
  );
  return all.sort((a, b) => rank(a) - rank(b));
}

export function needsAttention({ tone }: Pick<ListedResource, 'tone'>): boolean {
  return tone !== 'ok';
}

function rank(listed: ListedResource): number {
  return needsAttention(listed)
    ? RESOURCE_STATES.indexOf(listed.report.verdict.state)
    : RESOURCE_STATES.length;
}

function listed(connection: ConnectionReport, report: ResourceReport): ListedResource {
  const { runs, unpublished, verdict } = report;
  const { state, isProblem, cause, since } = verdict;
  const failed = endedAfter(runs[0] ?? null, unpublished);
  const first = state === 'failed' || state === 'refused' ? failed.at(-1) : undefined;
  const shown = cause === null ? warningText(report) : sentence(state, cause, connection.connection);
  return {
    ...{ connection, report, cause: shown },
    tone: isProblem ? (WARN.includes(state) ? 'warn' : 'bad') : shown === null ? 'ok' : 'warn',
    since: first?.startedAt ?? since,
    failures: failed.length,
  };
}

/** Texts of the service stay as they are. */
function sentence(state: ResourceState, cause: string, connection: string): string {
  if (state === 'failed' || state === 'refused' || state === 'retrying' || state === 'unreadable')
    return cause;
  const text = cause.charAt(0).toUpperCase() + cause.slice(1);
  const command = (name: string): string => `worktrack ${name} --connection ${connection}`;
  if (state === 'never-run') return `${text}. Start one with: ${command('export')}`;
  if (state === 'stale' || state === 'behind-schedule' || state === 'no-worker')
    return `${text}. Check the schedule and the worker: ${command('status')}`;
  return text;
}

function warningText({ runs: [last] }: ResourceReport): string | null {
  const [warning, ...more] = last === undefined ? [] : shownWarnings(last);
  if (warning === undefined) return null;
  return more.length === 0 ? warning : `${warning} (and ${count(more.length)} more)`;
}

/** The times of resources with the same cause: `5 failed runs since 2026-11-17 02:00 UTC`; empty if there are none. */
export function when(group: readonly ListedResource[]): string {
  const [{ report, failures }] = group as [ListedResource];
  const since = Math.min(...group.map((one) => one.since ?? Number.POSITIVE_INFINITY));
  if (!Number.isFinite(since)) return '';
  const most = Math.max(failures, ...group.map((one) => one.failures));
  switch (report.verdict.state) {
    case 'failed':
    case 'refused':
      return most <= 1 ? `Run of ${time(since)}` : `${count(most)} failed runs since ${time(since)}`;
    case 'cancelled':
      return `Run of ${time(since)}`;
    case 'behind-schedule':
      return `Due ${time(since)}`;
    case 'retrying':
      return `The run of ${time(since)} is retrying`;
    case 'stale':
      return `Data as of ${time(since)}, ${age(report.at - since)} old`;
    default:
      return '';
  }
}

/** How many resources are in each state, the worst first, and how many are published with warnings. */
export function countsByState(
  all: readonly ListedResource[],
): { readonly text: string; readonly count: number; readonly tone: Tone }[] {
  return RESOURCE_STATES.flatMap((state) => {
    const found = all.filter(({ report }) => report.verdict.state === state);
    const tones = (['bad', 'warn', 'ok'] as const).map((tone) => ({
      tone,
      count: found.filter((one) => one.tone === tone).length,
      text: STATE_NAMES[state] + (state === 'published' && tone === 'warn' ? ' with warnings' : ''),
    }));
    return tones.filter((one) => one.count > 0);
  });
}
