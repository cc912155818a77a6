import { parseHttpDate } from './http-date.js';

/** No service is taken at its word for longer than a day: a mistyped date must not hold a worker for a year. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/**
 * Reads `Retry-After` (RFC 9110 10.2.3) in both forms, delay-seconds and HTTP-date, and nothing else: `1.5`, `-1`, `1e3`
 * and `120, 60` are not the header's grammar and give null.
 * A date counts from the response's own `Date` (`serviceDateMs`), so that a wrong clock on either side does no
 * harm, or else from `nowMs`.
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
