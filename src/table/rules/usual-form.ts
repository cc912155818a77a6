const [MINUS, POINT, ZERO, COLON, UPPER_T, UPPER_Z] = [0x2d, 0x2e, 0x30, 0x3a, 0x54, 0x5a];
const MAX_DIGITS = 15;

/**
 * Reads the number in `bytes` from `start` to `end`, if it has few digits and no exponent.
 *
 * @returns the exact number times ten to the power of `scale`; NaN for other text, to which the rules for all numbers apply
 */
export function readDigits(bytes: Buffer, start: number, end: number, scale: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end - first > MAX_DIGITS) return Number.NaN;
  let value = 0;
  let point = end;
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (bytes[at] === POINT && point === end) point = at;
    else return Number.NaN;
  }
  const whole = point - first;
  const fraction = end - point - 1;
  const isNumber = whole > 0 && fraction !== 0 && (whole === 1 || bytes[first] !== ZERO);
  if (!isNumber || fraction > scale) return Number.NaN;
  value *= 10 ** (scale - Math.max(0, fraction));
  if (value > Number.MAX_SAFE_INTEGER) return Number.NaN;
  return first > start ? 0 - value : value;
}

/** Years that every engine reads, and whose times are exact as a number of microseconds. */
const [FIRST_YEAR, LAST_YEAR] = [1900, 2199];

/**
 * Reads the time in `bytes` from `start` to `end`, if it has seconds or milliseconds and `Z`.
 *
 * @returns microseconds since 1970; NaN for other text, to which the rules for all times apply
 */
export function readUtc(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  const isShape =
    (length === 20 || (length === 24 && bytes[start + 19] === POINT)) &&
    bytes[start + 4] === MINUS &&
    bytes[start + 7] === MINUS &&
    bytes[start + 10] === UPPER_T &&
    bytes[start + 13] === COLON &&
    bytes[start + 16] === COLON &&
    bytes[end - 1] === UPPER_Z;
  if (!isShape) return Number.NaN;
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  const hour = twoDigits(bytes, start + 11);
  const minute = twoDigits(bytes, start + 14);
  const second = twoDigits(bytes, start + 17);
  const millis = length === 20 ? 0 : twoDigits(bytes, start + 20) * 10 + oneDigit(bytes, start + 22);
  // A comparison with NaN, of other characters than digits, is false.
  const isTime = hour <= 23 && minute <= 59 && second <= 59 && millis <= 999;
  const isDate = year >= FIRST_YEAR && year <= LAST_YEAR && day >= 1 && day <= daysOf(year, month);
  if (!isTime || !isDate) return Number.NaN;
  return Date.UTC(year, month - 1, day, hour, minute, second, millis) * 1000;
}

function oneDigit(bytes: Buffer, at: number): number {
  const digit = bytes[at]! - ZERO;
  return digit >= 0 && digit <= 9 ? digit : Number.NaN;
}

function twoDigits(bytes: Buffer, at: number): number {
  return oneDigit(bytes, at) * 10 + oneDigit(bytes, at + 1);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Number of days of a month; NaN if it is not from 1 to 12. */
function daysOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? Number.NaN);
}
