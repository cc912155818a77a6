import { setTimeout as sleep } from 'node:timers/promises';

/** Upper limit of the first wait; it doubles with each attempt. */
export const BACKOFF_BASE_MS = 500;

/**
 * Exponential back-off with full jitter: uniformly distributed between 0 and
 * `min(capMs, BACKOFF_BASE_MS * 2^(attempt - 1))`, so that clients which failed together do not retry together.
 * `attempt` is the number of the failed attempt, from 1; `random` returns numbers in [0, 1). Returns whole milliseconds.
 */
export function backoffDelayMs(attempt: number, capMs: number, random: () => number): number {
  // 2^31 exceeds every sensible cap; without the limit, Infinity * 0 would be NaN.
  const ceiling = Math.min(capMs, BACKOFF_BASE_MS * 2 ** Math.min(attempt - 1, 31));
  return Math.floor(random() * ceiling);
}

/** The longest delay of a Node timer; a longer wait ends early. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  try {
    await sleep(Math.min(Math.max(ms, 0), MAX_TIMER_MS), undefined, { signal });
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}
