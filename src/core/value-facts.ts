import { readIsoTime } from './utc-time.js';

/** JSON types, one bit each, so that the set of types of a column is one number. */
export const JsonType = {
  null: 1,
  boolean: 2,
  integer: 4,
  number: 8,
  string: 16,
  object: 32,
  array: 64,
} as const;

/** The names of the types in a set, in the order of their bits. */
export function typeNames(bits: number): (keyof typeof JsonType)[] {
  return TYPE_NAMES.filter((name) => (bits & JsonType[name]) !== 0);
}

const TYPE_NAMES = Object.keys(JsonType) as (keyof typeof JsonType)[];

/**
 * What is known about all values of a column, in addition to their JSON types. A query engine can give a column an exact type only if
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
  const time = readIsoTime(text, from, to);
  if (time === null || time.year < 1) return Format.text;
  const { year, precision, fractionDigits, zone } = time;
  const distant = year < 1900 || year > 2299 ? Format.distant : 0;
  if (precision === 'day') return Format.date | distant;
  if (precision === 'minute' || fractionDigits > 6 || !isCommonZone(zone)) return Format.text;
  return (fractionDigits <= 3 ? Format.millis : Format.micros) | distant;
}

/** Whether all engines accept a zone: with a colon, and of at most 14 hours. `-00:00` is an unknown zone. */
function isCommonZone(zone: string): boolean {
  if (zone === 'Z') return true;
  return zone.length === 6 && zone !== '-00:00' && zone.slice(1) <= '14:00';
}

const DIGIT_0 = 0x30;
const DASH = 0x2d;

function isIn(number: number, max: number): boolean {
  return number >= 0 && number <= max;
}
