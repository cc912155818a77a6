import { parseIsoTime } from '../core/utc-time.js';

/** A number from here on is in milliseconds: in seconds, it would be after the year 5000. */
const MILLISECONDS_FROM = 100_000_000_000;

/**
 * Parses a timestamp header: Unix time in seconds or milliseconds, or an ISO 8601 time in UTC.
 *
 * @returns milliseconds since 1970; `null` for anything else
 */
export function parseTimestamp(text: string): number | null {
  if (/^\d{1,15}$/.test(text)) {
    const value = Number(text);
    return value < MILLISECONDS_FROM ? value * 1000 : value;
  }
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$/.test(text)) return null;
  return parseIsoTime(text);
}
