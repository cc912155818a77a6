import type { LoggedRun } from '../../temporal/status/run-log.js';
import type { ConnectionSummary } from '../shared/connection-lines.js';
import { EXIT } from '../shared/exit-code.js';
import { age, counted } from '../shared/text.js';
import type { ResourceHistory } from './history.js';
import { historyLines } from './history-lines.js';

/** The last run of each resource of a connection in one line. A failed last run is a problem. @param now milliseconds since 1970 */
export function historySummary(
  histories: readonly ResourceHistory[],
  now: number,
): Omit<ConnectionSummary, 'name'> {
  const last = histories.flatMap(({ runs }) => runs.slice(0, 1));
  const failed = last.filter(({ outcome }) => outcome === 'failed' || outcome === 'refused');
  const detail = [lastText(last, now), ...(failed.length === 0 ? [] : [causeText(failed)])].join('; ');
  return {
    code: EXIT.done,
    problem: failed.length > 0,
    state: stateOf(last),
    detail,
    lines: historyLines(histories, now),
  };
}

function stateOf(last: readonly LoggedRun[]): string {
  const order = ['refused', 'failed', 'running', 'cancelled', 'published'] as const;
  return order.find((outcome) => last.some((run) => run.outcome === outcome)) ?? 'no runs yet';
}

function lastText(last: readonly LoggedRun[], now: number): string {
  if (last.length === 0) return 'nothing has run';
  const newest = Math.max(...last.map(({ startedAt }) => startedAt));
  return `last run ${age(now - newest)} ago, ${counted(last.length, 'resource')}`;
}

function causeText(failed: readonly LoggedRun[]): string {
  const [first] = failed;
  const names = failed.map(({ resource }) => resource).join(', ');
  return first?.error == null ? names : `${names}: ${first.error.message}`;
}
