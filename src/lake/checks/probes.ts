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
  return dateSpan(text)?.to ?? null;
}
