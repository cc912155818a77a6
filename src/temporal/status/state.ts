import type { RunOutcome } from '../../core/contract/index.js';
import { MINUTE_MS } from '../../core/duration.js';

/** The state of a mirrored resource, from the most to the least important. */
export const RESOURCE_STATES = [
  'unreadable',
  'other-owner',
  'refused',
  'failed',
  'retrying',
  'no-worker',
  'running',
  'cancelled',
  'rolled-back',
  'behind-schedule',
  'never-run',
  'published',
] as const;

export type ResourceState = (typeof RESOURCE_STATES)[number];

interface StateFacts {
  /** The lake cannot be read, or its pointer is damaged or gone. */
  readonly unreadable: boolean;
  /** Another connection or another mirror has written the resource. */
  readonly foreign: boolean;
  readonly active: { readonly retrying: unknown } | null;
  /** `null`: not known. */
  readonly hasWorker: boolean | null;
  readonly lastOutcome: RunOutcome | null;
  readonly rolledBack: boolean;
  readonly behind: boolean;
}

/** The state that matters most (docs/how-to/monitor.md#states). */
export function stateOf(facts: StateFacts): ResourceState {
  const { unreadable, foreign, active, hasWorker, lastOutcome, rolledBack, behind } = facts;
  if (unreadable) return 'unreadable';
  if (foreign) return 'other-owner';
  if (active !== null) {
    if (hasWorker === false) return 'no-worker';
    return active.retrying === null ? 'running' : 'retrying';
  }
  if (lastOutcome === 'refused' || lastOutcome === 'failed') return lastOutcome;
  if (hasWorker === false) return 'no-worker';
  if (rolledBack) return 'rolled-back';
  if (lastOutcome === 'cancelled') return 'cancelled';
  if (behind) return 'behind-schedule';
  return lastOutcome === null ? 'never-run' : 'published';
}

/** Time for a scheduled run to reach its mirror. */
const GRACE_MS = 10 * MINUTE_MS;

/**
 * The nominal start of the scheduled run that the published data lacks; `null` if there is none. All times are
 * milliseconds since 1970.
 *
 * @param lastScheduled nominal start of the last run that the Schedule started
 * @param published start of the run that is published
 */
export function behindSince(
  lastScheduled: number | null,
  published: number | null,
  now: number,
): number | null {
  if (lastScheduled === null || now - lastScheduled < GRACE_MS) return null;
  // Run ids have whole seconds.
  return published !== null && published + 1000 > lastScheduled ? null : lastScheduled;
}

/**
 * Whether a resource is fresh: its last run was published, and its checkpoint is not older than `maxAgeMs`
 * (docs/reference/commands.md#worktrack-status).
 *
 * @param at milliseconds since 1970
 * @example
 * const resources = await readStatus(temporal, connection, store);
 * const stale = resources.filter((one) => !isFresh(one, 26 * 3_600_000, Date.now()));
 */
export function isFresh(
  status: {
    readonly state: ResourceState;
    readonly lastRun: { readonly outcome: RunOutcome } | null;
    readonly checkpoint: { readonly updatedSince: string } | null;
  },
  maxAgeMs: number,
  at: number,
): boolean {
  const { state, lastRun, checkpoint } = status;
  if (state === 'unreadable' || state === 'other-owner') return false;
  if (lastRun?.outcome !== 'published' || checkpoint === null) return false;
  return at - Date.parse(checkpoint.updatedSince) <= maxAgeMs;
}
