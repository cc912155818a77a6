import { DAY_MS } from '../../core/duration.js';

/**
 * Dates of spreadsheets: days since a start as numbers, which only the format of a cell tells from other numbers (ECMA-376 part 1,
 * 18.17.4 and 18.8.30). Pure.
 */

/** What a number format shows. `time`: a time of day; `elapsed`: a duration, such as `[h]:mm`. */
export type NumberFormat = 'number' | 'date' | 'time' | 'date-time' | 'elapsed';

/** Ids of formats that files do not describe; those from 27 on are East Asian. */
const BUILT_IN: readonly (readonly [first: number, last: number, format: NumberFormat])[] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'date-time'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'elapsed'],
  [47, 47, 'time'],
  [50, 54, 'date'],
  [55, 56, 'time'],
  [57, 58, 'date'],
];

/** @param code the format as text; `undefined` for a format that the file does not describe */
export function numberFormat(id: number, code: string | undefined): NumberFormat {
  if (code !== undefined) return formatOfCode(code);
  return BUILT_IN.find(([first, last]) => id >= first && id <= last)?.[2] ?? 'number';
}

/** Reads the first section of a format, which is that of positive numbers. */
function formatOfCode(code: string): NumberFormat {
  const { letters, isElapsed } = lettersOf(code);
  if (isElapsed) return 'elapsed';
  if (/general|[0#?]/.test(letters.replace(/s\.0+/g, 's'))) return 'number';
  const parts = letters.replaceAll('am/pm', '').replaceAll('a/p', '');
  const hasTime = /[hs]/.test(parts);
  // A lone m is a month; next to hours or seconds, minutes.
  const hasDate = /[yd]/.test(parts) || (!hasTime && parts.includes('m'));
  if (hasDate) return hasTime ? 'date-time' : 'date';
  return hasTime ? 'time' : 'number';
}

/** The format without quoted and escaped characters, colors and conditions, in lower case. */
function lettersOf(code: string): { letters: string; isElapsed: boolean } {
  let letters = '';
  let isElapsed = false;
  for (let at = 0; at < code.length && code[at] !== ';'; at++) {
    const character = code[at]!;
    if (character === '"' || character === '[') {
      const end = code.indexOf(character === '"' ? '"' : ']', at + 1);
      if (character === '[' && /^(?:h+|m+|s+)$/i.test(code.slice(at + 1, end))) isElapsed = true;
      at = end === -1 ? code.length : end;
    } else if (character === '\\' || character === '_' || character === '*') at++;
    else letters += character.toLowerCase();
  }
  return { letters, isElapsed };
}

/** 9999-12-31 in the system of 1900. */
const LAST_DAY = 2_958_465;
/** The day that the system of 1900 has and no calendar: 1900-02-29. */
const NO_DAY = 60;

/**
 * The local time of a number, as the milliseconds since 1970 that a clock in UTC with the same digits would show; `null` if it is no
 * date.
 *
 * @param system the first year of the workbook: its days count from there
 */
export function serialTime(serial: number, system: 1900 | 1904): number | null {
  // The system of 1904 begins 1,462 days later, and has no day that does not exist.
  const days = system === 1904 ? serial + 1462 : serial;
  const first = system === 1904 ? 1462 : 1;
  if (!(days >= first) || days >= LAST_DAY + 1 || Math.floor(days) === NO_DAY) return null;
  return Math.round((days < NO_DAY ? days + 1 : days) * DAY_MS) + Date.UTC(1899, 11, 30);
}

/** A duration in days as `07:30`, `07:30:15` or `07:30:15.250`; `null` if it is negative. */
export function clockText(days: number): string | null {
  const ms = Math.round(days * DAY_MS);
  if (!(ms >= 0)) return null;
  const two = (part: number): string => String(Math.floor(part)).padStart(2, '0');
  const rest = ms % 1_000 === 0 ? '' : `.${String(ms % 1_000).padStart(3, '0')}`;
  const seconds = ms % 60_000 === 0 ? '' : `:${two((ms / 1_000) % 60)}${rest}`;
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}${seconds}`;
}

/** A double keeps so many decimal digits, and spreadsheets show no more. */
const DIGITS = 15;

/**
 * The JSON number of a stored number: its literal with up to 15 digits. Excel stores 1.1 as `1.1000000000000001`, which is 1.1 again.
 *
 * @returns `null` if more than 15 digits are needed: a longer number was rounded, or a formula has a result that no cell shows
 */
export function storedNumber(literal: string): string | null {
  const number = Number(literal);
  if (literal.trim() === '' || !Number.isFinite(number)) return null;
  if (Number.isInteger(number)) return Math.abs(number) < 10 ** DIGITS ? String(number || 0) : null;
  const digits = /^-?[0.]*(\d*)\.?(\d*)/.exec(literal)!;
  const isShort = (digits[1]! + digits[2]!).length <= DIGITS;
  if (isShort && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(literal)) return literal;
  const short = Number(number.toPrecision(DIGITS));
  return short === number ? String(short) : null;
}
