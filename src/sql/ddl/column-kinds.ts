import { Format, typeNames } from '../../core/value-facts.js';
import type { Column } from '../../lake/rows/data-columns.js';

/** The most specific type that holds all values of a column exactly. */
export type Kind = { readonly type: 'text' } | TypedKind;

export type TypedKind =
  | { readonly type: 'boolean' | 'double' }
  /** `int64` has 64 bits, `int128` at most 38 digits. */
  | { readonly type: 'int64' | 'int128' }
  | { readonly type: 'decimal'; readonly precision: 18 | 38; readonly scale: number }
  | { readonly type: 'date'; readonly isDistant: boolean }
  /** A time in UTC. */
  | { readonly type: 'time'; readonly digits: 3 | 6; readonly isDistant: boolean };

/**
 * `exact` returns numbers that no decimal type holds, such as `1e21`, as text. `double` returns all numbers that are not
 * integers as floating-point numbers, which rounds them.
 */
export type Numbers = 'exact' | 'double';

/** Most digits of a decimal type, in all engines. */
const MAX_DIGITS = 38;
/** Decimals of at most 18 digits can be multiplied: their product has at most 36 digits. */
const SHORT_DIGITS = 18;

export const TEXT: Kind = { type: 'text' };

/**
 * Kind of a data column, from the JSON types and formats of all values seen so far. It is text for a mixture, except
 * integers with other numbers.
 */
export function columnKind({ types, values }: Pick<Column, 'types' | 'values'>, numbers: Numbers): Kind {
  const seen = typeNames(types).filter((name) => name !== 'null');
  if (seen.length === 0) return TEXT;
  const { formats, whole, fraction } = values;
  if (formats & Format.text) return TEXT;
  const isAll = (...names: string[]): boolean => seen.every((name) => names.includes(name));
  if (isAll('boolean')) return { type: 'boolean' };
  if (isAll('string')) return timeKind(formats);
  if (!isAll('integer', 'number')) return TEXT;
  if (isAll('integer')) {
    if (!(formats & Format.wide)) return { type: 'int64' };
    return whole <= MAX_DIGITS ? { type: 'int128' } : TEXT;
  }
  if (numbers === 'double') return { type: 'double' };
  if (formats & Format.exponent || whole + fraction > MAX_DIGITS) return TEXT;
  const precision = whole + fraction <= SHORT_DIGITS ? SHORT_DIGITS : MAX_DIGITS;
  return { type: 'decimal', precision, scale: fraction };
}

function timeKind(formats: number): Kind {
  const isDistant = (formats & Format.distant) !== 0;
  const isTime = (formats & (Format.millis | Format.micros)) !== 0;
  if (formats & Format.date) return isTime ? TEXT : { type: 'date', isDistant };
  return isTime ? { type: 'time', digits: formats & Format.micros ? 6 : 3, isDistant } : TEXT;
}

/** Kind of a metadata column. */
export function metaKind(name: string): Kind {
  return name === '_run_id' ? TEXT : { type: 'time', digits: 3, isDistant: false };
}

/** A header column as it appears in a statement. */
export interface ViewColumn {
  /** Name in the header. */
  readonly name: string;
  readonly alias: string;
  readonly kind: Kind;
}

/** Comment lines for columns whose alias differs from their name. */
export function aliasComments(columns: readonly Pick<ViewColumn, 'name' | 'alias'>[]): string[] {
  return columns
    .filter(({ name, alias }) => name !== alias)
    .map(({ name, alias }) => `Column ${JSON.stringify(name)} has the name ${alias} here.`);
}
