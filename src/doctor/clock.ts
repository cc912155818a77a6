import { type Finding, ok, warning } from './finding.js';

/** `Date` counts whole seconds, and an answer is under way for a while. */
const BEARABLE_MS = 30_000;

/**
 * Holds another machine's clock against ours.
 *
 * @param theirs milliseconds since 1970; `null` where it does not tell
 * @param ours the same moment here
 */
export function clockFinding(who: string, theirs: number | null, ours: number): Finding {
  if (theirs === null) {
    return warning(
      'clock',
      `${who} does not tell its time (no Date header)`,
      "Checkpoints are taken from this side's clock alone: keep it right (NTP), and `sync.overlap` above what it may be wrong by.",
    );
  }
  const ahead = theirs - ours;
  const seconds = Math.round(Math.abs(ahead) / 1000);
  if (Math.abs(ahead) <= BEARABLE_MS)
    return ok('clock', `${who} and this machine agree within ${seconds + 1} s`);
  return warning(
    'clock',
    `the clock of ${who} is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine's`,
    "Set this machine's clock (NTP). If it is right, the other one is wrong: nothing is lost with `sync.clock: earliest`, but records are read more than once.",
  );
}
