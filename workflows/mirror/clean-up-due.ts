import type { CleanUpDue, MirrorState } from '../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS } from '../../src/core/duration.js';
import type { RetentionSettings } from '../../src/core/settings.js';

/** How long a delayed request of a replaced attempt may still arrive at the store, ms (docs/explanation/fencing.md). */
const LATE_MS = HOUR_MS;

/** Longer than any month. */
const MAX_AHEAD_MS = 32 * DAY_MS;

/** A published short run, as far as it decides about the clean-up. */
interface ShortPublished {
  readonly retention: RetentionSettings;
  readonly snapshot: string;
  readonly reported: boolean;
  /** When the next clean-up is due, if the run has removed what had expired. Absent: it has not. */
  readonly due?: CleanUpDue;
}

/** The clean-up that is due, if it only has to remove snapshots that have expired. A short run does that itself. */
export function expiredOnly({ cleanUpDue }: MirrorState, now: number): CleanUpDue | null {
  if (cleanUpDue === null || now < cleanUpDue.at) return null;
  return now < cleanUpDue.otherwiseAt ? cleanUpDue : null;
}

/**
 * Whether a published run is followed by a clean-up. A short run leaves nothing to remove, so only what was there before
 * decides: remains of failed runs and replaced attempts, a superseded snapshot, or expired ones that it has not removed.
 *
 * @param state of the mirror before the run was published
 * @param short `null` for a run in separate steps, which has staged objects
 * @param now milliseconds since 1970
 */
export function isCleanUpDue(state: MirrorState, short: ShortPublished | null, now: number): boolean {
  const { cleanedUpTo, unpublished, lateUntil, lastRun } = state;
  const due = short?.due ?? state.cleanUpDue;
  if (short === null || !due || cleanedUpTo === null) return true;
  if (unpublished.length > 0 || lateUntil !== null || lastRun?.outcome !== 'published' || !short.reported)
    return true;
  // It is at most a month ahead, unless the clock was wrong.
  if (due.otherwiseAt > now + MAX_AHEAD_MS) return true;
  return now >= due.at || due.retention !== JSON.stringify(short.retention);
}

/** When the clean-up is due after a short run without one. A second run of a day supersedes the first after a day. */
export function dueAfterShort(state: MirrorState, short: ShortPublished, now: number): CleanUpDue | null {
  const due = short.due ?? state.cleanUpDue;
  if (!due) return null;
  const [day, before] = [dayOf(short.snapshot), dayOf(state.published?.snapshot ?? '')];
  const soon = Math.min(due.at, now + DAY_MS);
  const { otherwiseAt } = due;
  // A run of an earlier day than the run before it may supersede any run of that day.
  const supersedes = short.retention.keepPerDay === 'last' && day <= before;
  return supersedes ? { ...due, at: soon, otherwiseAt: Math.min(otherwiseAt, now + DAY_MS) } : due;
}

function dayOf(snapshot: string): string {
  return /\/dt=([^/]+)\//.exec(snapshot)?.[1] ?? '';
}

/** Until when a request that was sent before `now` may arrive. */
export function lateAfter(now: number): number {
  return now + LATE_MS;
}
