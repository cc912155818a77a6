import type { Millis } from './brands.js';
import { quoted } from './short-text.js';

/** A day is 24 hours. */
export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['w', 7 * DAY_MS],
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
  ['ms', 1],
];

/** `ms` comes before `m` and `s`, so that it is not read as `m`. */
const STEP = /(\d+)(ms|w|d|h|m|s)/y;

/**
 * Parses `90d`, `6h`, `5m`, `30s`, `500ms`, `2w`, or a chain from the largest unit to the smallest such as `1h30m`, to whole
 * milliseconds. A day is 24 hours.
 *
 * @throws RangeError whose message names the text and the allowed form.
 */
export function parseDuration(text: string): Millis {
  const total = totalOf(text);
  if (total === null) throw notADuration(text);
  if (!Number.isSafeInteger(total)) throw new RangeError(`the duration ${quoted(text)} is too long`);
  return total;
}

/** @returns `null` for any other text */
function totalOf(text: string): Millis | null {
  let total = 0;
  let last = -1;
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const step = STEP.exec(text);
    const rank = step ? UNITS.findIndex(([unit]) => unit === step[2]) : -1;
    const unit = UNITS[rank];
    // A repeated unit or a wrong order (`5m1h`) is more likely a typing error than intended.
    if (!step || !unit || rank <= last) return null;
    last = rank;
    total += Number(step[1]) * unit[1];
  }
  return last === -1 ? null : total;
}

/**
 * Formats a duration as the shortest exact text, in days and smaller units (`90d`, `1h30m`, `0s`). Rounds fractions of
 * a millisecond. `parseDuration` reads every non-negative result.
 *
 * @throws RangeError if the number is not finite.
 */
export function formatDuration(ms: Millis): string {
  if (!Number.isFinite(ms)) throw new RangeError(`${ms} is not a duration`);
  let rest = Math.round(Math.abs(ms));
  if (rest === 0) return '0s';
  let text = ms < 0 ? '-' : '';
  for (const [unit, size] of UNITS) {
    // Weeks are parsed but not written: `90d` is clearer than `12w6d`.
    if (unit === 'w' || rest < size) continue;
    text += `${Math.floor(rest / size)}${unit}`;
    rest %= size;
  }
  return text;
}

/** Spellings that people use, as parts of `5min`, `2 hours` or `1 Day`. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  w: ['w', 'wk', 'wks', 'week', 'weeks'],
  d: ['d', 'day', 'days'],
  h: ['h', 'hr', 'hrs', 'hour', 'hours'],
  m: ['m', 'min', 'mins', 'minute', 'minutes'],
  s: ['s', 'sec', 'secs', 'second', 'seconds'],
  ms: ['ms', 'msec', 'millisecond', 'milliseconds'],
};

/** The duration that a person probably meant, in the form that `parseDuration` reads; `null` if none is clear. */
function meantDuration(text: string): string | null {
  const steps = [...text.trim().matchAll(/(\d+)\s*([A-Za-z]+)[\s,]*/gy)];
  if (steps.length === 0 || steps.map(([step]) => step).join('') !== text.trim()) return null;
  const meant = steps.map(([, number, word = '']) => {
    // `5M` could be months.
    const spelled = word.length === 1 ? word : word.toLowerCase();
    return `${number}${Object.keys(SPELLINGS).find((unit) => SPELLINGS[unit]!.includes(spelled)) ?? word}`;
  });
  return totalOf(meant.join('')) === null ? null : meant.join('');
}

function notADuration(text: string): RangeError {
  const meant = meantDuration(text);
  if (meant !== null) return new RangeError(`${quoted(text)} is not a duration; write ${meant}`);
  return new RangeError(
    `${quoted(text)} is not a duration; allowed: whole numbers with units, such as 90d, 6h, 5m, 30s, 500ms, 2w or 1h30m`,
  );
}
