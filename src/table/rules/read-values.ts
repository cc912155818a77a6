import { readIsoTime } from '../../core/utc-time.js';

/** An exact decimal number: `digits` without leading zeros, the last `scale` of them after the point. */
export interface ExactNumber {
  readonly negative: boolean;
  /** Empty for zero. */
  readonly digits: string;
  /** From 0. Trailing zeros after the point do not count. */
  readonly scale: number;
}

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** The most digits of Delta's decimals. */
export const MAX_DIGITS = 38;

/** Whether a text is a number literal of JSON (RFC 8259 section 6). */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/** Reads a number literal (RFC 8259 section 6). @returns `null` for other text, and for a number with more than 38 digits */
export function readNumber(text: string): ExactNumber | null {
  const found = NUMBER.exec(text);
  if (found === null) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = found;
  let digits = whole! + fraction;
  let scale = fraction.length - Number(exponent);
  let end = digits.length;
  while (end > 0 && scale > digits.length - end && digits.charCodeAt(end - 1) === 0x30) end--;
  scale -= digits.length - end;
  digits = digits.slice(0, end).replace(/^0+/, '');
  if (digits === '') return { negative: false, digits, scale: 0 };
  if (scale < 0) {
    if (digits.length - scale > MAX_DIGITS) return null;
    digits += '0'.repeat(-scale);
    scale = 0;
  }
  if (Math.max(digits.length, scale) > MAX_DIGITS) return null;
  return { negative: sign === '-', digits, scale };
}

/** The number times ten to the power of `scale`, which must not be less than its own scale. */
export function unscaled(number: ExactNumber, scale: number): bigint {
  const value = BigInt(number.digits + '0'.repeat(scale - number.scale));
  return number.negative ? -value : value;
}

/**
 * The first year that an inferred time or date may have. Some engines reject earlier ones in files of other writers,
 * because of the calendar reform. A column with earlier values is text, unless `tables.types` says otherwise.
 */
const FIRST_YEAR = 1900;

/** Which years are accepted: those that every engine reads, or all that a type can hold. */
export type Years = 'common' | 'all';

/** The first and the last day that are accepted, in days since 1970. Times are compared in UTC. */
const FIRST_DAY: Readonly<Record<Years, number>> = {
  common: dayOf(`${FIRST_YEAR}-01-01`),
  all: dayOf('0001-01-01'),
};
const LAST_DAY = dayOf('9999-12-31');

/** Microseconds since 1970 of a time with a zone (RFC 3339); `null` for other text, or for a part of a microsecond. */
export function readTimestamp(text: string, years: Years): bigint | null {
  const time = readIsoTime(text.toUpperCase());
  if (time?.precision !== 'second' || !(time.zone === 'Z' || time.zone.includes(':'))) return null;
  const { seconds, micros, fractionDigits } = time;
  if (fractionDigits > 6 && !/\.\d{6}0+\D/.test(text)) return null;
  const utcDay = Math.floor(seconds / 86_400);
  if (utcDay < FIRST_DAY[years] || utcDay > LAST_DAY) return null;
  // Most times are exact as a number, and one large integer is cheaper than three.
  const exact = seconds * 1_000_000 + micros;
  return Number.isSafeInteger(exact) ? BigInt(exact) : BigInt(seconds) * 1_000_000n + BigInt(micros);
}

/** Days since 1970 of a date such as `2026-11-21`; `null` for other text. */
export function readDate(text: string, years: Years): number | null {
  const date = readIsoTime(text);
  if (date?.precision !== 'day') return null;
  const day = date.seconds / 86_400;
  return day < FIRST_DAY[years] ? null : day;
}

function dayOf(date: string): number {
  return readIsoTime(date)!.seconds / 86_400;
}
