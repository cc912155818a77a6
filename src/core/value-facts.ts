/**
 * What is known about all values of a column, beside their JSON types. A query engine can give a column an exact type only if
 * every value fits it (docs/reference/lake.md#manifests). Facts are only ever added, so merging two records keeps both.
 */
export interface ValueFacts {
  /** Bits of `Format`. */
  readonly formats: number;
  /** The most digits before the decimal point of a number without an exponent. */
  readonly whole: number;
  /** The most digits after the decimal point. */
  readonly fraction: number;
}

/** Facts under construction. */
export type MutableFacts = { -readonly [Name in keyof ValueFacts]: ValueFacts[Name] };

export const Format = {
  /** A text that is neither a date nor a time with a zone, or a value that is masked. */
  text: 1,
  /** A date as RFC 3339 writes it, such as `2026-11-21`. */
  date: 2,
  /** A time with a zone (RFC 3339) and at most 3 digits after the second. */
  millis: 4,
  /** The same, with 4 to 6 digits. */
  micros: 8,
  /** A date or time before 1900 or after 2299, which some engines cannot hold. */
  distant: 16,
  /** A number with an exponent. */
  exponent: 32,
  /** An integer that 64 bits cannot hold. */
  wide: 64,
} as const;

export function noFacts(): MutableFacts {
  return { formats: 0, whole: 0, fraction: 0 };
}

/** Adds the facts of one record to another. */
export function addFacts(into: MutableFacts, { formats, whole, fraction }: ValueFacts): void {
  into.formats |= formats;
  into.whole = Math.max(into.whole, whole);
  into.fraction = Math.max(into.fraction, fraction);
}

/** Notes a string. It costs almost nothing once a column is known to hold other text. */
export function noteString(facts: MutableFacts, text: string): void {
  if ((facts.formats & Format.text) === 0) facts.formats |= stringFormat(text);
}

const MAX_INT64 = '9223372036854775807';

/** Notes the literal of a JSON number. @returns whether it is an integer */
export function noteNumber(facts: MutableFacts, literal: string): boolean {
  let point = -1;
  for (let at = 0; at < literal.length; at++) {
    const code = literal.charCodeAt(at);
    if (code === 0x2e) point = at;
    else if ((code | 0x20) === 0x65) {
      facts.formats |= Format.exponent;
      return false;
    }
  }
  const sign = literal.charCodeAt(0) === 0x2d ? 1 : 0;
  const whole = (point === -1 ? literal.length : point) - sign;
  if (whole > facts.whole) facts.whole = whole;
  if (point !== -1) {
    const fraction = literal.length - point - 1;
    if (fraction > facts.fraction) facts.fraction = fraction;
    return false;
  }
  if (whole > MAX_INT64.length || (whole === MAX_INT64.length && literal.slice(sign) > MAX_INT64)) {
    // The smallest 64-bit integer is farther from zero than the largest one.
    if (literal !== '-9223372036854775808') facts.formats |= Format.wide;
  }
  return true;
}

const DIGIT_0 = 0x30;

/** Format of a string: a date, a time with a zone, or text. Forms that some engine rejects, such as a leap second, are text. */
export function stringFormat(text: string): number {
  const { length } = text;
  if (length < 10 || length > 32 || text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d)
    return Format.text;
  const year = digits(text, 0) * 100 + digits(text, 2);
  const month = digits(text, 5);
  const day = digits(text, 8);
  // Written so that NaN, from a character that is no digit, fails.
  if (!(year >= 1 && month >= 1 && day >= 1 && day <= daysIn(year, month))) return Format.text;
  const distant = year < 1900 || year > 2299 ? Format.distant : 0;
  if (length === 10) return Format.date | distant;
  const fraction = timeDigits(text);
  if (fraction === -1) return Format.text;
  return (fraction <= 3 ? Format.millis : Format.micros) | distant;
}

/** Number of digits after the second of `…T02:00:00.123456Z`; -1 for any other form, or for more than 6 digits. */
function timeDigits(text: string): number {
  const hasColons = text.charCodeAt(13) === 0x3a && text.charCodeAt(16) === 0x3a;
  if (text.charCodeAt(10) !== 0x54 || !hasColons) return -1;
  if (!(digits(text, 11) <= 23 && digits(text, 14) <= 59 && digits(text, 17) <= 59)) return -1;
  let zone = 19;
  if (text.charCodeAt(19) === 0x2e) {
    do zone++;
    while (isDigit(text.charCodeAt(zone)));
  }
  const fraction = zone === 19 ? 0 : zone - 20;
  if (fraction > 6 || (zone > 19 && fraction === 0)) return -1;
  if (text.charCodeAt(zone) === 0x5a) return text.length === zone + 1 ? fraction : -1;
  return isOffset(text, zone) ? fraction : -1;
}

/** Whether an offset such as `+01:00` ends the text. Engines accept at most 14 hours. `-00:00` means an unknown zone. */
function isOffset(text: string, at: number): boolean {
  const sign = text.charCodeAt(at);
  if ((sign !== 0x2b && sign !== 0x2d) || text.length !== at + 6 || text.charCodeAt(at + 3) !== 0x3a)
    return false;
  const minutes = digits(text, at + 1) * 60 + digits(text, at + 4);
  return minutes <= 14 * 60 && digits(text, at + 4) <= 59 && !(sign === 0x2d && minutes === 0);
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= DIGIT_0 + 9;
}

/** The number that two digits write; NaN if they are not digits. */
function digits(text: string, at: number): number {
  const high = text.charCodeAt(at);
  const low = text.charCodeAt(at + 1);
  return isDigit(high) && isDigit(low) ? (high - DIGIT_0) * 10 + low - DIGIT_0 : Number.NaN;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  if (month > 12) return 0;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
