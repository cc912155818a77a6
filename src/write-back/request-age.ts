import type { EpochMs, Millis } from '../core/brands.js';
import { MINUTE_MS } from '../core/duration.js';
import type { RunClocks } from '../lake/documents/run-file.js';

/** What is left of a difference between clocks that are kept with NTP. */
const MAX_AHEAD_MS = 5 * MINUTE_MS;

/** The earliest time that the clocks show. */
export function earliestOf({ temporal, worker, store }: RunClocks): EpochMs {
  return Math.min(temporal, worker, store ?? worker);
}

/** The latest time that the clocks show. */
export function latestOf({ temporal, worker, store }: RunClocks): EpochMs {
  return Math.max(temporal, worker, store ?? worker);
}

/**
 * The age of a request: from the earliest time that its clocks showed to the latest time that the clocks show now. The clocks
 * of two machines can differ, and a request that is taken for younger than it is could be repeated when the service has forgotten
 * its key.
 *
 * @returns `null`: the request is later than now, by more than clocks differ, so its age is not known
 */
export function ageOf(earliestThen: EpochMs, latestNow: EpochMs): Millis | null {
  const age = latestNow - earliestThen;
  if (age >= 0) return age;
  return age >= -MAX_AHEAD_MS ? 0 : null;
}
