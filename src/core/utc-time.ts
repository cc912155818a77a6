import type { UtcSeconds } from './brands.js';

/** ISO 8601: a date, or a time with its zone. Seconds and their fractions are optional. */
const ISO =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:T(?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.\d+)?)?(?:Z|[+-](?<zoneHour>\d\d):?(?<zoneMinute>\d\d)))?$/;

/**
 * Parses an ISO 8601 date (as its first moment in UTC) or a time with a zone. `Date.parse` alone would accept 30 February as
 * 2 March, and 24:00 as the next day.
 *
 * @returns milliseconds since 1970; `null` for anything else, such as a date that does not exist
 */
export function parseIsoTime(text: string): number | null {
  const groups = ISO.exec(text)?.groups;
  if (groups === undefined) return null;
  const part = (name: string): number => Number(groups[name] ?? 0);
  if (part('day') < 1 || part('day') > daysIn(part('year'), part('month'))) return null;
  if (part('hour') > 23 || part('minute') > 59 || part('second') > 59) return null;
  if (part('zoneHour') > 23 || part('zoneMinute') > 59) return null;
  // ECMAScript guarantees only zones with a colon.
  const at = Date.parse(text.replace(/(T.*[+-]\d\d)(\d\d)$/, '$1:$2'));
  return Number.isNaN(at) ? null : at;
}

/** Whether a text is an existing time in the only form that `updatedSince` takes (spec, "Query parameters"). */
export function isUtcSeconds(text: string): text is UtcSeconds {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) && parseIsoTime(text) !== null;
}

/** Rounds down to whole seconds. An earlier time is safe: it only fetches some rows again. @param ms milliseconds since 1970 */
export function toUtcSeconds(ms: number): UtcSeconds {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z` as UtcSeconds;
}

/** Parses a date (midnight UTC) or a time with its zone; `null` for anything else. */
export function parseSince(text: string): UtcSeconds | null {
  const at = parseIsoTime(text);
  return at === null ? null : toUtcSeconds(at);
}

/** Number of days in a month (1 to 12); 0 for any other month. */
export function daysIn(year: number, month: number): number {
  if (month < 1 || month > 12) return 0;
  const first = new Date(0);
  first.setUTCFullYear(year, month, 0);
  return first.getUTCDate();
}
