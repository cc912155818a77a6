import { type ByteString, toByteString } from '../../core/brands.js';
import { dateSpan } from '../../core/date-span.js';
import { compareWith, type DecimalLimit, decimalLimit } from '../../core/decimal.js';
import type { CountRule } from './plan.js';

/** Whether a value breaks a rule. `null` is a null. */
export type Probe = (value: ByteString | null) => boolean;

/** The probe of a measure that counts. */
export function probeOf(rule: CountRule): Probe {
  switch (rule.kind) {
    case 'nulls':
      return (value) => value === null;
    case 'undated':
      return (value) => value !== null && timeOf(value) === null;
    case 'others':
      return remembering(notOneOf(rule.values));
    case 'outside':
      return outside(limitOf(rule.min), limitOf(rule.max));
  }
}

function limitOf(text: string | null): DecimalLimit | null {
  return text === null ? null : decimalLimit(text);
}

/** A value that is no number is in no range. */
function outside(min: DecimalLimit | null, max: DecimalLimit | null): Probe {
  return (value) => {
    if (value === null) return false;
    if (min !== null) {
      const order = compareWith(value, min);
      if (order === null || order < 0) return true;
    }
    if (max === null) return false;
    const order = compareWith(value, max);
    return order === null || order > 0;
  };
}

/** CSV has no types, so a number in the list allows every text of that number, such as `1` and `1.0`. */
function notOneOf(values: readonly (string | number)[]): Probe {
  const texts = new Set(values.map((value) => toByteString(String(value))));
  const numbers = values
    .filter((value) => typeof value === 'number')
    .map((value) => decimalLimit(String(value)));
  return (value) =>
    value !== null && !texts.has(value) && !numbers.some((number) => compareWith(value, number) === 0);
}

const MAX_REMEMBERED = 1000;

/** Few values repeat in most rows. */
function remembering(probe: Probe): Probe {
  const known = new Map<ByteString, boolean>();
  return (value) => {
    if (value === null) return false;
    const before = known.get(value);
    if (before !== undefined) return before;
    const breaks = probe(value);
    if (known.size < MAX_REMEMBERED) known.set(value, breaks);
    return breaks;
  };
}

/**
 * The latest moment that a date, a time or an epoch number can mean, in ms; `null` for any other text. A date without a
 * zone can be a day later somewhere, which must not make data look old.
 */
export function timeOf(text: string): number | null {
  return usualTime(text) ?? dateSpan(text)?.to ?? null;
}

const DASH = 0x2d;
const COLON = 0x3a;

/** A time such as `2026-11-21T02:00:00.123Z`, by far the most usual form; `null` for all others. */
function usualTime(text: string): number | null {
  const { length } = text;
  if ((length !== 20 && length !== 24) || text.charCodeAt(length - 1) !== 0x5a) return null;
  const isForm =
    text.charCodeAt(4) === DASH &&
    text.charCodeAt(7) === DASH &&
    text.charCodeAt(10) === 0x54 &&
    text.charCodeAt(13) === COLON &&
    text.charCodeAt(16) === COLON &&
    (length === 20 || text.charCodeAt(19) === 0x2e);
  if (!isForm) return null;
  const [month, day] = [digits(text, 5, 7), digits(text, 8, 10)];
  const [hour, minute, second] = [digits(text, 11, 13), digits(text, 14, 16), digits(text, 17, 19)];
  const ms = length === 24 ? digits(text, 20, 23) : 0;
  const year = digits(text, 0, 4);
  // Days after the 28th may not exist in their month.
  const isPlain =
    year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 28 && hour >= 0 && hour <= 23;
  if (!isPlain || minute < 0 || minute > 59 || second < 0 || second > 59 || ms < 0) return null;
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}

/** The number that digits write; negative if there is another character. */
function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}
