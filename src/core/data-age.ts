import { HOUR_MS, MINUTE_MS } from './duration.js';

/** The largest age of data that is not stale, ms: a nightly run and two hours, as in the alert `WorktrackDataTooOld`. */
export const DEFAULT_MAX_AGE_MS = 26 * HOUR_MS;

/** From which age data is stale, and when it is judged. */
export interface AgeLimit {
  readonly maxAgeMs: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Milliseconds since the checkpoint of data. @param dataFrom,at milliseconds since 1970 */
export function ageOfData(dataFrom: number, at: number): number {
  return at - dataFrom;
}

/** Whether data is older than it may be. @param dataFrom its checkpoint, milliseconds since 1970 */
export function isStale(dataFrom: number, { maxAgeMs, at }: AgeLimit): boolean {
  return ageOfData(dataFrom, at) > maxAgeMs;
}

/** Time for a scheduled run to begin. */
export const SCHEDULE_GRACE_MS = 10 * MINUTE_MS;

/**
 * The nominal start of the scheduled run that is missing; `null` if there is none. All times are milliseconds since 1970.
 *
 * @param due nominal start of the last run that a Schedule started or should have started
 * @param newest start of the newest run that counts
 */
export function behindSince(due: number | null, newest: number | null, at: number): number | null {
  if (due === null || at - due < SCHEDULE_GRACE_MS) return null;
  // Run ids have whole seconds.
  return newest !== null && newest + 1000 > due ? null : due;
}
