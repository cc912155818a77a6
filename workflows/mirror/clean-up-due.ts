import type { CleanUpDue, MirrorState } from '../../src/core/contract/index.js';
import { DAY_MS, HOUR_MS } from '../../src/core/duration.js';
import type { RetentionSettings } from '../../src/core/settings.js';

/** How long a delayed request of a replaced attempt may still arrive at the store, ms (docs/explanation/fencing.md). */
const LATE_MS = HOUR_MS;

/** A published short run, as far as it decides about the clean-up. */
interface ShortPublished {
  readonly retention: RetentionSettings;
  readonly snapshot: string;
  readonly reported: boolean;
}

/**
 * Whether a published run is followed by a clean-up. A short run leaves nothing to remove, so only what was there before
 * decides: remains of failed runs and replaced attempts, or a snapshot that has reached its retention.
 *
 * @param state of the mirror before the run was published
 * @param short `null` for a run in separate steps, which has staged objects
 * @param now milliseconds since 1970
 */
export function isCleanUpDue(state: MirrorState, short: ShortPublished | null, now: number): boolean {
  const { cleanUpDue, cleanedUpTo, unpublished, lateUntil, lastRun } = state;
  if (short === null || !cleanUpDue || cleanedUpTo === null) return true;
  if (unpublished.length > 0 || lateUntil || lastRun?.outcome !== 'published' || !short.reported) return true;
  return now >= cleanUpDue.at || cleanUpDue.retention !== JSON.stringify(short.retention);
}

/** When the clean-up is due after a short run without one. A second run of a day supersedes the first. */
export function dueAfterShort(state: MirrorState, short: ShortPublished, now: number): CleanUpDue | null {
  const { cleanUpDue, published } = state;
  if (!cleanUpDue) return null;
  const isSameDay = dayOf(short.snapshot) === dayOf(published?.snapshot ?? '');
  return isSameDay ? { ...cleanUpDue, at: Math.min(cleanUpDue.at, now + DAY_MS) } : cleanUpDue;
}

function dayOf(snapshot: string): string | undefined {
  return /\/dt=([^/]+)\//.exec(snapshot)?.[1];
}

/** Until when a request that was sent before `now` may arrive. */
export function lateAfter(now: number): number {
  return now + LATE_MS;
}
