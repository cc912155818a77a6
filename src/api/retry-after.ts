import { DAY_MS } from '../core/duration.js';
import { parseHttpDate } from './http-date.js';

/** Longest accepted wait, one day: a wrong date must not stop a worker for a year. */
export const MAX_RETRY_AFTER_MS = DAY_MS;

/**
 * Parses `Retry-After` (RFC 9110 10.2.3) in both forms, delay-seconds and HTTP-date. Values outside the grammar, such as
 * `1.5`, `-1`, `1e3` and `120, 60`, return null.
 * A date is relative to the response's own `Date` (`serviceDateMs`), so that a wrong clock on either side does not
 * matter, or else to `nowMs`.
 * Returns the delay in milliseconds from the receipt of the response, between 0 and MAX_RETRY_AFTER_MS.
 */
export function parseRetryAfter(
  value: string | null,
  clock: { readonly serviceDateMs: number | null; readonly nowMs: number },
): number | null {
  if (value === null) return null;
  const text = value.replace(/^[ \t]+|[ \t]+$/g, '');
  if (/^\d+$/.test(text)) return bounded(Number(text) * 1000);
  const at = parseHttpDate(text, clock.nowMs);
  if (at === null) return null;
  return bounded(at - (clock.serviceDateMs ?? clock.nowMs));
}

function bounded(delayMs: number): number {
  return Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS);
}
