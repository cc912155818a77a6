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

/**
 * Notes the string in a part of a text. It costs almost nothing once a column is known to hold other text. The part is not cut
 * out, because V8 reads the characters of a slice much more slowly.
 */
export function noteString(facts: MutableFacts, text: string, from = 0, to = text.length): void {
  if ((facts.formats & Format.text) === 0) facts.formats |= stringFormat(text, from, to);
}

const MAX_INT64 = '9223372036854775807';
/** Without its sign. */
const MIN_INT64 = '9223372036854775808';

/** Notes the literal of a JSON number. @returns whether it is an integer */
export function noteNumber(facts: MutableFacts, literal: string): boolean {
  const { length } = literal;
  const sign = literal.charCodeAt(0) === DASH ? 1 : 0;
  let whole = sign;
  while (whole < length && isIn(literal.charCodeAt(whole) - DIGIT_0, 9)) whole++;
  if (whole < length) return noteDecimal(facts, literal, whole - sign);
  if (whole - sign > facts.whole) facts.whole = whole - sign;
  if (whole - sign >= MAX_INT64.length && isWide(literal.slice(sign), sign === 1))
    facts.formats |= Format.wide;
  return true;
}

/** @param whole number of digits before the point or the exponent */
function noteDecimal(facts: MutableFacts, literal: string, whole: number): false {
  if (/e/i.test(literal)) {
    facts.formats |= Format.exponent;
  } else {
    facts.whole = Math.max(facts.whole, whole);
    facts.fraction = Math.max(facts.fraction, literal.length - literal.indexOf('.') - 1);
  }
  return false;
}

/** Whether 64 bits cannot hold an integer of at least 19 digits. */
function isWide(digits: string, isNegative: boolean): boolean {
  if (digits.length > MAX_INT64.length) return true;
  return digits > (isNegative ? MIN_INT64 : MAX_INT64);
}

/** Format of a string: a date, a time with a zone, or text. Forms that some engine rejects, such as a leap second, are text. */
export function stringFormat(text: string, from = 0, to = text.length): number {
  const length = to - from;
  if (length < 10 || length > 32 || text.charCodeAt(from + 4) !== DASH || text.charCodeAt(from + 7) !== DASH)
    return Format.text;
  const century = twoDigits(text, from);
  const year = century * 100 + twoDigits(text, from + 2);
  const month = twoDigits(text, from + 5);
  const day = twoDigits(text, from + 8);
  if (year < 1 || day < 1 || day > daysIn(year, month)) return Format.text;
  const distant = year < 1900 || year > 2299 ? Format.distant : 0;
  if (length === 10) return Format.date | distant;
  const fraction = timeDigits(text, from + 10, to);
  if (fraction === -1) return Format.text;
  return (fraction <= 3 ? Format.millis : Format.micros) | distant;
}

/** Number of digits after the second of `T02:00:00.123456Z`; -1 for any other form, or for more than 6 digits. */
function timeDigits(text: string, from: number, to: number): number {
  if (to < from + 10 || text.charCodeAt(from) !== 0x54) return -1;
  if (text.charCodeAt(from + 3) !== COLON || text.charCodeAt(from + 6) !== COLON) return -1;
  if (!isIn(twoDigits(text, from + 1), 23) || !isIn(twoDigits(text, from + 4), 59)) return -1;
  if (!isIn(twoDigits(text, from + 7), 59)) return -1;
  let zone = from + 9;
  if (text.charCodeAt(zone) === 0x2e) {
    do zone++;
    while (zone < to && isIn(text.charCodeAt(zone) - DIGIT_0, 9));
    // At least one digit, and no more than all engines can hold.
    if (zone === from + 10 || zone > from + 16) return -1;
  }
  const isUtc = zone === to - 1 && text.charCodeAt(zone) === 0x5a;
  if (!isUtc && !isOffset(text, zone, to)) return -1;
  return Math.max(0, zone - from - 10);
}

/** Whether the rest of the text is an offset such as `+01:00`. Engines accept at most 14 hours. `-00:00` is an unknown zone. */
function isOffset(text: string, from: number, to: number): boolean {
  const sign = text.charCodeAt(from);
  if (to !== from + 6 || (sign !== 0x2b && sign !== DASH) || text.charCodeAt(from + 3) !== COLON)
    return false;
  const hours = twoDigits(text, from + 1);
  const minutes = twoDigits(text, from + 4);
  if (!isIn(hours, 14) || !isIn(minutes, hours === 14 ? 0 : 59)) return false;
  return sign === 0x2b || hours + minutes > 0;
}

const DIGIT_0 = 0x30;
const DASH = 0x2d;
const COLON = 0x3a;

function isIn(number: number, max: number): boolean {
  return number >= 0 && number <= max;
}

/** The number that two digits write; far below 0 if they are not digits. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - DIGIT_0;
  const ones = text.charCodeAt(at + 1) - DIGIT_0;
  return isIn(tens, 9) && isIn(ones, 9) ? tens * 10 + ones : NOT_DIGITS;
}

/** So low that a number of which it is a part is below 0, too. */
const NOT_DIGITS = -100_000;

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  if (!isIn(month - 1, 11)) return 0;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
