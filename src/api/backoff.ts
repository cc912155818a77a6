/** The ceiling of the first wait; it doubles with each further try. */
export const BACKOFF_BASE_MS = 500;

/**
 * Exponential back-off with full jitter: evenly spread between 0 and `min(capMs, BACKOFF_BASE_MS * 2^(attempt - 1))`, so
 * that clients which failed together do not come back together. `attempt` is the number of the try that failed, from 1;
 * `random` gives numbers in [0, 1). Returns whole milliseconds.
 */
export function backoffDelayMs(attempt: number, capMs: number, random: () => number): number {
  // 2^31 is past every sensible cap; without the bound, Infinity * 0 would be NaN.
  const ceiling = Math.min(capMs, BACKOFF_BASE_MS * 2 ** Math.min(attempt - 1, 31));
  return Math.floor(random() * ceiling);
}
