import { readIsoTime } from '../../core/utc-time.js';

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
