import { DAY_MS, HOUR_MS } from '../../core/duration.js';
import type { ResourceStatus } from '../../temporal/status/status.js';
import { type ConnectionSummary, totalLine } from '../shared/connection-lines.js';
import { EXIT } from '../shared/exit-code.js';
import { age, counted, cut, table } from '../shared/text.js';
import type { ConnectionStatus } from './status-lines.js';
import { statusLines } from './status-lines.js';

/** Data that is older counts as stale, as in the report. */
const STALE_MS = DAY_MS + 2 * HOUR_MS;

/** The state of a connection in one line: that of its worst resource. @param now milliseconds since 1970 */
export function statusSummary(status: ConnectionStatus, now: number): ConnectionSummary {
  const { name, resources, schedule } = status;
  const states = resources.map((resource) => stateOf(resource, now));
  const state = ORDER.find((one) => states.includes(one)) ?? 'fresh';
  const problem = state !== 'fresh' && state !== 'running';
  const worst = resources.filter((_, i) => states[i] === state);
  const cause = worst.find(({ error }) => error !== null)?.error?.message;
  const names = worst.map((resource) => resource.name).join(', ');
  const detail = [
    ...(problem ? [cause === undefined ? names : `${names}: ${cause}`] : []),
    snapshotText(resources, now),
    ...(schedule?.state === 'paused' ? ['schedule paused'] : []),
  ];
  return {
    ...{ name, code: EXIT.done, problem, state },
    detail: detail.join('; '),
    lines: statusLines([status], now).slice(1),
  };
}

const ORDER = ['refused', 'failed', 'cancelled', 'never run', 'stale', 'running'] as const;

function stateOf({ lastRun, snapshotAt, active }: ResourceStatus, now: number): string {
  if (active !== null) return 'running';
  if (lastRun !== null && lastRun.outcome !== 'published') return lastRun.outcome;
  if (snapshotAt === null) return 'never run';
  return now - Date.parse(snapshotAt) > STALE_MS ? 'stale' : 'fresh';
}

function snapshotText(resources: readonly ResourceStatus[], now: number): string {
  const times = resources.flatMap(({ snapshotAt }) => (snapshotAt === null ? [] : [Date.parse(snapshotAt)]));
  if (times.length === 0) return 'no snapshot';
  const rows = resources.reduce((sum, resource) => sum + (resource.rows ?? 0), 0);
  return `${counted(rows, 'row')}, oldest snapshot ${age(now - Math.min(...times))}`;
}

/** Lines around the list of connections: the total, an empty line, and two lines below. */
const FRAME = 4;

/**
 * One screen about many connections: the total, then those with a problem, as many as fit.
 *
 * @param height lines of the screen; the prompt of the shell needs one
 */
export function screenLines(
  summaries: readonly ConnectionSummary[],
  { width, height }: { readonly width: number; readonly height: number },
): string[] {
  const problems = summaries.filter(({ problem }) => problem);
  const shown = problems.slice(0, Math.max(1, height - 1 - FRAME));
  const rows = table(shown.map(({ name, state, detail }) => [name, state, detail.replace(/\s+/g, ' ')]));
  const hidden = problems.length - shown.length;
  const hint = 'Details: --connection NAME, or --details for all.';
  return [
    totalLine(summaries),
    ...(rows.length === 0 ? [] : ['', ...rows.map((row) => cut(row, width))]),
    ...(hidden === 0 ? [] : [`... and ${hidden} more with a problem; --failing lists all`]),
    hint,
  ];
}
