import type { RunId } from '../../core/brands.js';
import { STATE_NAMES } from '../../core/resource-state.js';
import { parseRunDate } from '../../core/run-id.js';
import { toUtcSeconds } from '../../lake/run/watermark.js';
import type { ResourceStatus } from '../../temporal/status/status.js';
import { age, count } from '../shared/text.js';

/** The state of a resource, short enough for a table. @param now milliseconds since 1970 */
export function stateText(resource: ResourceStatus, now: number): string {
  const { state, active, lastRun, snapshotAt } = resource;
  const ago = (ms: number): string => `${age(now - ms)} ago`;
  switch (state) {
    case 'published':
      return snapshotAt === null ? state : `${state} ${ago(Date.parse(snapshotAt))}`;
    case 'stale':
      return snapshotAt === null ? state : `${state}, published ${ago(Date.parse(snapshotAt))}`;
    case 'failed':
    case 'refused':
    case 'cancelled':
      return lastRun?.runId == null ? state : `${state} ${ago(startOf(lastRun.runId))}`;
    case 'running': {
      if (active?.phase == null) return state;
      const rows = active.rows === null ? '' : `, ${count(active.rows)} rows`;
      return `running: ${active.phase}${rows}`;
    }
    case 'retrying':
      return `retrying for ${age(now - (active?.retrying?.since ?? now))}`;
    case 'no-worker':
      return active === null ? STATE_NAMES[state] : `${STATE_NAMES[state]}, run waiting`;
    default:
      return STATE_NAMES[state];
  }
}

/** What a person needs to know about a state: causes, times, and what to do. */
export function resourceNotes(resource: ResourceStatus, now: number): string[] {
  const { name, error, active, rolledBack, behindSince, pageSize } = resource;
  const lines: string[] = [];
  if (active?.retrying) {
    const { since, attempt, nextAttemptAt, error: why } = active.retrying;
    const next = nextAttemptAt === null ? 'the next one is running' : dueText(nextAttemptAt, now);
    lines.push(`${name}: retrying since ${toUtcSeconds(since)}; attempt ${attempt} failed, ${next}`);
    lines.push(`  ${why}`);
  }
  if (active?.waitingUntil != null && active.waitingUntil > now)
    lines.push(`${name}: the service asked for a pause of ${age(active.waitingUntil - now)}`);
  if (active?.storeLimit) {
    const { since, said } = active.storeLimit;
    lines.push(`${name}: the store limits requests since ${toUtcSeconds(since)} (${said})`);
  }
  if (error !== null) lines.push(`${name}: ${error.message}`);
  if (rolledBack !== null) {
    const { from, to } = rolledBack;
    lines.push(`${name}: rolled back from run ${from} to run ${to}, until a complete full read is published`);
    lines.push(`  To undo: worktrack rollback --resource ${name} --to ${from}`);
  }
  if (behindSince !== null)
    lines.push(
      `${name}: behind schedule, because the run of ${toUtcSeconds(Date.parse(behindSince))} is not published`,
    );
  if (pageSize !== null)
    lines.push(
      `${name}: pages of ${count(pageSize.learned)} rows, because the service rejects the configured ` +
        `${count(pageSize.configured)} (\`sync.pageSize\`) or fails at them; larger pages are tried from time to time`,
    );
  return lines.map((line) => `  ${line}`);
}

function dueText(at: number, now: number): string {
  return at > now ? `next attempt in ${age(at - now)}` : 'the next one waits for a worker';
}

function startOf(runId: RunId): number {
  return parseRunDate(runId);
}
