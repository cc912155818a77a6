import type { EpochMs, UtcSeconds } from './brands.js';

/** A date, or a time with its zone, in the form of ISO 8601 that RFC 3339 describes. */
export interface IsoTime {
  readonly year: number;
  /** Whole seconds since 1970, in UTC; of a date, its first moment in UTC. */
  readonly seconds: number;
  /** The digits after the second; 0 for none, and for a date. */
  readonly fractionDigits: number;
  /** The fraction of the second in microseconds. Digits after the sixth are left out. */
  readonly micros: number;
  /** What is left out of the text: everything after the day, the seconds, or nothing. */
  readonly precision: 'day' | 'minute' | 'second';
  /** `Z`, `+01:00` or `+0100`; empty for a date. */
  readonly zone: string;
}

const [DASH, PLUS, POINT, COLON, DIGIT_0, UPPER_T, UPPER_Z] = [0x2d, 0x2b, 0x2e, 0x3a, 0x30, 0x54, 0x5a];

/**
 * Reads a date or a time with its zone, such as `2026-11-21`, `2026-11-21T02:00Z` or `2026-11-21T02:00:00.123+01:00`. It is the
 * only reader of this form; `dateSpan` adds the other forms of ISO 8601, with what they leave open. `Date.parse` would
 * accept 30 February as 2 March, and 24:00 as the next day.
 *
 * It reads a part of a text in place, because V8 reads the characters of a slice much more slowly, and it rejects other text
 * at its first characters.
 *
 * @returns `null` for any other text, and for a date or a time that does not exist
 */
export function readIsoTime(text: string, from = 0, to = text.length): IsoTime | null {
  const length = to - from;
  if (length < 10 || text.charCodeAt(from + 4) !== DASH || text.charCodeAt(from + 7) !== DASH) return null;
  const year = twoDigits(text, from) * 100 + twoDigits(text, from + 2);
  const month = twoDigits(text, from + 5);
  const day = twoDigits(text, from + 8);
  // The number of days is 0 for a month that is none. Text other than digits is below 0.
  if (year < 0 || day < 1 || day > daysIn(year, month)) return null;
  const midnight = dayNumber(year, month, day) * 86_400;
  if (length === 10)
    return { year, seconds: midnight, fractionDigits: 0, micros: 0, precision: 'day', zone: '' };
  // The shortest time is T02:00Z.
  if (length < 17 || text.charCodeAt(from + 10) !== UPPER_T || text.charCodeAt(from + 13) !== COLON)
    return null;
  const hour = twoDigits(text, from + 11);
  const minute = twoDigits(text, from + 14);
  let at = from + 16;
  let second = 0;
  let fractionDigits = 0;
  let micros = 0;
  const precision = text.charCodeAt(at) === COLON ? 'second' : 'minute';
  if (precision === 'second') {
    second = twoDigits(text, at + 1);
    at += 3;
    if (at < to && text.charCodeAt(at) === POINT) {
      const first = ++at;
      for (let digit = digitAt(text, at); at < to && digit >= 0; digit = digitAt(text, ++at))
        if (at - first < 6) micros = micros * 10 + digit;
      fractionDigits = at - first;
      if (fractionDigits === 0) return null;
      if (fractionDigits < 6) micros *= 10 ** (6 - fractionDigits);
    }
  }
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return null;
  const offset = offsetMinutes(text, at, to);
  if (offset === null) return null;
  const seconds = midnight + hour * 3600 + (minute - offset) * 60 + second;
  return { year, seconds, fractionDigits, micros, precision, zone: text.slice(at, to) };
}

/** Minutes of the zone that is the rest of a text; `null` if the rest is none. */
function offsetMinutes(text: string, at: number, to: number): number | null {
  const sign = text.charCodeAt(at);
  if (to - at === 1) return sign === UPPER_Z ? 0 : null;
  const isLong = text.charCodeAt(at + 3) === COLON;
  if ((sign !== PLUS && sign !== DASH) || to - at !== (isLong ? 6 : 5)) return null;
  const hours = twoDigits(text, at + 1);
  const minutes = twoDigits(text, at + (isLong ? 4 : 3));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return null;
  return (sign === DASH ? -1 : 1) * (hours * 60 + minutes);
}

/** The number that two digits write; far below 0, and below any multiple of another such number, if they are not digits. */
function twoDigits(text: string, at: number): number {
  const tens = digitAt(text, at);
  const ones = digitAt(text, at + 1);
  return tens >= 0 && ones >= 0 ? tens * 10 + ones : -100_000;
}

function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - DIGIT_0;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

/** Days from 1970 to a day of the Gregorian calendar. It counts years from March, so that a leap day is the last day of one. */
function dayNumber(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + dayOfYear - DAYS_BEFORE_1970;
}

/** From 1 March of the year 0. */
const DAYS_BEFORE_1970 = 719_468;

/** The moment of a date or a time, rounded down. */
export function momentOf({ seconds, micros }: IsoTime): EpochMs {
  return seconds * 1000 + Math.floor(micros / 1000);
}

/**
 * Parses an ISO 8601 date (as its first moment in UTC) or a time with a zone.
 *
 * @returns `null` for anything else, such as a date that does not exist
 */
export function parseIsoTime(text: string): EpochMs | null {
  const time = readIsoTime(text);
  return time && momentOf(time);
}

/** Whether a text is an existing time in the only form that `updatedSince` takes (docs/service-api.md#requests). */
export function isUtcSeconds(text: string): text is UtcSeconds {
  return text.length === 20 && text.endsWith('Z') && readIsoTime(text)?.precision === 'second';
}

/** Rounds down to whole seconds. An earlier time is safe: it only fetches some rows again. */
export function toUtcSeconds(ms: EpochMs): UtcSeconds {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z` as UtcSeconds;
}

/** `20261121T020000Z`, for names. Rounds down to whole seconds. */
export function toTimeStamp(ms: EpochMs): string {
  return toUtcSeconds(ms).replace(/[-:]/g, '');
}

/** Parses a date (midnight UTC) or a time with its zone; `null` for anything else. */
export function parseSince(text: string): UtcSeconds | null {
  const at = parseIsoTime(text);
  return at === null ? null : toUtcSeconds(at);
}

/** Number of days in a month (1 to 12); 0 for any other month. */
export function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  if (!(month >= 1 && month <= 12)) return 0;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
