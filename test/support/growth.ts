/** Measures how the time of a function grows with the length of its text. */

/** Shorter times are too small to compare, ms of CPU. */
const MIN_MS = 5;
const ROUNDS = 5;
/** A function that reads this much in less than `MIN_MS` reads only the beginning of a text, or is fast enough. */
const MAX_CHARS = 2 ** 22;
/** The first look is at a short text, and each next one at a text four times as long. */
const FIRST_CHARS = 512;
const LAST_LOOK_CHARS = 2 ** 17;
/**
 * What grows with the square of the length makes 8,000,000,000 steps for the longest of these texts, and needs far more time. So the
 * growth of anything faster need not be measured.
 */
const QUICK_MS = 200;

/** Twice the text may take at most this many times as long. */
export const MAX_GROWTH = 2.5;

/** How often the measuring of a growth is repeated, each time with texts that take longer: noise weighs less then. */
const TRIES = 3;
const LONGER = 4;

/**
 * The time for twice a text, divided by the time for the text; 0 if a long text takes no time that can be measured.
 *
 * @param attack a text of about so many characters
 * @param quickMs what reads the longest text of the first looks in this time is not measured
 */
export function growth(
  work: (text: string) => unknown,
  attack: (chars: number) => string,
  quickMs = QUICK_MS,
): number {
  let chars = FIRST_CHARS;
  while (chars <= LAST_LOOK_CHARS && cpuMs(work, attack(chars)) < quickMs) chars *= 4;
  if (chars > LAST_LOOK_CHARS) return 0;
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && best > MAX_GROWTH; tries++)
    best = Math.min(best, measured(work, attack, MIN_MS * LONGER ** tries));
  return best;
}

function measured(work: (text: string) => unknown, attack: (chars: number) => string, minMs: number): number {
  for (let chars = FIRST_CHARS; chars <= MAX_CHARS; chars *= 2) {
    const once = attack(chars);
    if (cpuMs(work, once) < minMs) continue;
    const twice = attack(2 * chars);
    const [one, two] = [bestOf(work, once), bestOf(work, twice)];
    if (one >= minMs) return two / one;
  }
  return 0;
}

function bestOf(work: (text: string) => unknown, text: string): number {
  return Math.min(...Array.from({ length: ROUNDS }, () => cpuMs(work, text)));
}

/** CPU time of the process, ms. */
function cpuMs(work: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage();
  try {
    work(text);
  } catch {
    // What is measured is the time until the text is refused.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
