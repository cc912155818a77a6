import type { IncomingHttpHeaders } from 'node:http';
import type { EpochMs, Millis } from './brands.js';
import { HOUR_MS, SECOND_MS } from './duration.js';
import { momentOf, readIsoTime } from './utc-time.js';

/** From here on, a number is a time in seconds since 1970 and not a delay: 1,000,000,000 s are 31 years. */
const FIRST_EPOCH_S = 1_000_000_000;
/** From here on, a time is in a smaller unit: as seconds, it would be in the year 5138. */
const LAST_EPOCH_S = 100_000_000_000;

interface Clock {
  /** The response's own `Date`; null without one. */
  readonly serviceDateMs: EpochMs | null;
  readonly nowMs: number;
}

/**
 * Parses `Retry-After` (RFC 9110 10.2.3) in both forms, delay-seconds and HTTP-date. Some services send decimals, and some
 * send a time since 1970 in seconds, milliseconds or smaller units, also as a decimal. Other values outside the grammar,
 * such as `-1`, `1e3` and `120, 60`, return null.
 *
 * A time is relative to the response's own `Date`, so that a wrong clock on either side does not matter, or else to
 * `nowMs`. A past time means now.
 *
 * @returns the delay from the receipt of the response; it can be longer than anyone waits
 */
export function parseRetryAfter(value: string | null, clock: Clock): Millis | null {
  if (value === null) return null;
  const text = value.trim();
  const now = clock.serviceDateMs ?? clock.nowMs;
  if (/^\d+(?:\.\d+)?$/.test(text)) return bounded(delayOf(Number(text), now));
  const at = parseHttpDate(text, clock.nowMs);
  return at === null ? null : bounded(at - now);
}

/** @param seconds a delay, or a time since 1970 */
function delayOf(seconds: number, nowMs: number): number {
  if (seconds < FIRST_EPOCH_S) return seconds * SECOND_MS;
  let epoch = seconds;
  for (let unit = 0; epoch >= LAST_EPOCH_S && unit < 3; unit++) epoch /= 1000;
  return epoch * SECOND_MS - nowMs;
}

function bounded(delayMs: number): number {
  return Math.min(Math.max(Math.round(delayMs), 0), Number.MAX_SAFE_INTEGER);
}

const LIMIT_NAME = /limit|quota|throttl/;
/** `RateLimit: "default";r=0;t=30` or `RateLimit: limit=10, remaining=0, reset=30`. */
const STRUCTURED_RESET = /(?:^|[\s,;])(?:t|reset)=(\d+)/i;

/**
 * When a used-up limit starts again, in milliseconds from the receipt of the response. The headers have no common meaning,
 * so a wait of more than an hour is not believed.
 */
export function resetDelayMs(headers: IncomingHttpHeaders, clock: Clock): number | null {
  const delays = Object.entries(headers).flatMap(([name, value]) => {
    const text = [value ?? ''].flat().join(', ');
    if (name.includes('reset') && LIMIT_NAME.test(name)) return [resetIn(text, name, clock)];
    const [, reset] = /^(?:x-)?rate-?limit$/.test(name) ? (STRUCTURED_RESET.exec(text) ?? []) : [];
    return reset === undefined ? [] : [parseRetryAfter(reset, clock)];
  });
  const believed = delays.filter((delay): delay is number => delay !== null && delay <= HOUR_MS);
  return believed.length === 0 ? null : Math.max(...believed);
}

/** A time in ISO 8601, a delay in the unit of the header's name, or a value as of `Retry-After`. */
function resetIn(text: string, name: string, clock: Clock): number | null {
  const iso = readIsoTime(text.trim());
  if (iso !== null) return bounded(momentOf(iso) - (clock.serviceDateMs ?? clock.nowMs));
  const isDelay = /^\d{1,9}(?:\.\d+)?$/.test(text.trim());
  const isMs = /(?:^|[-_])ms$|milli/.test(name);
  return isDelay && isMs ? bounded(Number(text)) : parseRetryAfter(text, clock);
}

const TIME = String.raw`(?<minute>(?:[01]\d|2[0-3]):[0-5]\d):(?<second>[0-5]\d|60)`;
const MONTH = '(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const DAY = '(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)';
const LONG_DAY = '(?:Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day';
const FORMS = [
  new RegExp(String.raw`^${DAY}, (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^${LONG_DAY}, (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  new RegExp(String.raw`^${DAY} ${MONTH} (?<day>\d\d| \d) ${TIME} (?<year>\d{4})$`),
];

/**
 * Parses an HTTP-date (RFC 9110 5.6.7) in any of its three forms: IMF-fixdate, RFC 850 and asctime. A two-digit year
 * more than 50 years after `nowMs` belongs to the previous century. The grammar allows a leap second, which counts as the
 * first second of the next minute.
 *
 * @returns null for an invalid date, such as 30 February
 */
export function parseHttpDate(text: string, nowMs: number): EpochMs | null {
  const form = FORMS.find((one) => one.test(text));
  if (form === undefined) return null;
  const { day = '', month, year = '', minute, second } = form.exec(text)!.groups!;
  // `Date` reads 30 February as 1 March, and the year 0001 as 2001. 2000 is a leap year.
  const date = new Date(`${day} ${month} 2000 ${minute} GMT`);
  const at = date.setUTCFullYear(year.length === 2 ? fullYear(Number(year), nowMs) : Number(year));
  return date.getUTCDate() === Number(day) ? at + Number(second) * SECOND_MS : null;
}

function fullYear(twoDigits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear();
  const year = now - (now % 100) + twoDigits;
  return year > now + 50 ? year - 100 : year;
}
