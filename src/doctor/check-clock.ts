import type { EpochMs } from '../core/brands.js';
import { type Finding, ok, warning } from './finding.js';

/** `Date` has whole seconds, and a response takes time to arrive. */
const TOLERATED_SKEW_MS = 30_000;

/**
 * Compares another machine's clock with this machine's.
 *
 * @param theirs `null` if it sends no `Date` header
 * @param ours this machine's time at the same moment
 */
export function clockFinding(who: string, theirs: EpochMs | null, ours: EpochMs): Finding {
  if (theirs === null) {
    const remedy =
      "Checkpoints rely on the earliest of Temporal's clock, the worker's and the store's. Synchronize them (NTP), and set `sync.overlap` above their error.";
    return warning('clock', `${who} sends no Date header`, remedy);
  }
  const ahead = theirs - ours;
  const seconds = Math.round(Math.abs(ahead) / 1000);
  if (Math.abs(ahead) <= TOLERATED_SKEW_MS)
    return ok('clock', `the clocks of ${who} and this machine differ by less than ${seconds + 1} s`);
  return warning(
    'clock',
    `the clock of ${who} is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine's`,
    "Synchronize this machine's clock (NTP). If this clock is right, the other one is wrong: `sync.clock: earliest` loses nothing, but reads records more than once.",
  );
}
