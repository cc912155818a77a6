import { STATE_NAMES, worstOf } from '../../core/resource-state.js';
import type { ResourceStatus } from '../../temporal/status/status.js';
import { type ConnectionSummary, totalLine } from '../shared/connection-lines.js';
import { EXIT } from '../shared/exit-code.js';
import { age, counted, cut, table } from '../shared/text.js';
import { type ConnectionStatus, statusLines } from './status-lines.js';

/** The state of a connection in one line: that of its worst resource. @param now milliseconds since 1970 */
export function statusSummary(status: ConnectionStatus, now: number): ConnectionSummary {
  const { name, resources, schedule } = status;
  const worst = worstOf(resources);
  const [first] = worst;
  const problem = first?.isProblem === true;
  const names = worst.map((resource) => resource.name).join(', ');
  const differences = status.differences ?? [];
  const detail = [
    ...(problem ? [`${names}: ${first.cause ?? ''}`] : []),
    snapshotText(resources, now),
    ...(schedule?.state === 'paused' ? ['schedule paused'] : []),
    ...(differences.length === 0 ? [] : ['a worker has another configuration']),
  ];
  return {
    ...{ name, code: EXIT.done, problem: problem || differences.length > 0 },
    state: STATE_NAMES[first?.state ?? 'never-run'],
    detail: detail.join('; '),
    lines: statusLines([status], now).slice(1),
  };
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
