import type { EpochMs, Millis } from './brands.js';
import { HOUR_MS, MINUTE_MS } from './duration.js';

/** The largest age of data that is not stale: a nightly run and two hours, as in the alert `WorktrackDataTooOld`. */
export const DEFAULT_MAX_AGE_MS: Millis = 26 * HOUR_MS;

/** From which age data is stale, and when it is judged. */
export interface AgeLimit {
  readonly maxAgeMs: Millis;
  readonly at: EpochMs;
}

/** The time since the checkpoint of data. */
export function ageOfData(dataFrom: EpochMs, at: EpochMs): Millis {
  return at - dataFrom;
}

/** Whether data is older than it may be. @param dataFrom its checkpoint */
export function isStale(dataFrom: EpochMs, { maxAgeMs, at }: AgeLimit): boolean {
  return ageOfData(dataFrom, at) > maxAgeMs;
}

/** How many starts a Schedule had, and how many of them no published run has followed before the next start. */
export interface Nights {
  readonly scheduled: number;
  readonly unpublished: number;
}

/**
 * Counts scheduled starts without a published run. A run counts for the last start before it, whoever requested it.
 *
 * @param due starts of the Schedule, in order, with its jitter
 * @param runs starts of published runs, with or without their jitter
 */
export function countNights(due: readonly EpochMs[], runs: readonly EpochMs[], jitterMs: Millis): Nights {
  // Run ids have whole seconds.
  const slackMs = jitterMs + 1000;
  const published = new Set(runs.map((run) => due.findLastIndex((start) => start <= run + slackMs)));
  published.delete(-1);
  return { scheduled: due.length, unpublished: due.length - published.size };
}

/** Time for a scheduled run to begin. */
export const SCHEDULE_GRACE_MS = 10 * MINUTE_MS;

/**
 * The nominal start of the scheduled run that is missing; `null` if there is none.
 *
 * @param due nominal start of the last run that a Schedule started or should have started
 * @param newest start of the newest run that counts
 */
export function behindSince(due: EpochMs | null, newest: EpochMs | null, at: EpochMs): EpochMs | null {
  if (due === null || at - due < SCHEDULE_GRACE_MS) return null;
  // Run ids have whole seconds.
  return newest !== null && newest + 1000 > due ? null : due;
}
