/**
 * Where a wait is made that the service or the store asks for (docs/explanation/guarantees.md#errors). A short one is made by the
 * request. A longer one is durable: the activity fails, and Temporal repeats it after the wait, so that no worker is held and no
 * restart ends it. One that is too long ends the run.
 */
import type { Millis } from './brands.js';

/** @param longestMs the longest wait within an activity */
export function isShortWait(delayMs: Millis, longestMs: Millis): boolean {
  return delayMs <= longestMs;
}

/** @param giveUpAfterMs `retries.giveUpAfter` */
export function isTooLong(delayMs: Millis, giveUpAfterMs: Millis): boolean {
  return delayMs > giveUpAfterMs;
}

/** The field of an activity's failure that makes its wait durable. @param retryAfterMs `null`: no wait is requested */
export function durableWait(retryAfterMs: Millis | null): { readonly nextRetryDelay?: Millis } {
  return retryAfterMs === null ? {} : { nextRetryDelay: Math.max(retryAfterMs, 1) };
}
