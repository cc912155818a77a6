import { typeNames } from '../../core/value-facts.js';
import { MAX_DIGITS, readDate, readNumber, readTimestamp } from './read-values.js';

/** A type of Delta, by its name in the schema. `empty`: no value is known yet; the schema then says `string`. */
export type ColumnType =
  | 'empty'
  | 'boolean'
  | 'long'
  | 'double'
  | 'date'
  | 'timestamp'
  | 'string'
  | `decimal(${number},${number})`;

/** Which types the values of a column may get, by the JSON types that the service sent. */
export type ValueClass = 'boolean' | 'integer' | 'number' | 'string' | 'text';

/** @param types bits of the JSON types seen (`Column.types`) */
export function valueClass(types: number): ValueClass {
  const seen = typeNames(types).filter((name) => name !== 'null');
  const [first] = seen;
  if (seen.length > 0 && seen.every((name) => name === 'integer' || name === 'number'))
    return seen.includes('number') ? 'number' : 'integer';
  return seen.length === 1 && (first === 'boolean' || first === 'string') ? first : 'text';
}

export interface Decimal {
  readonly precision: number;
  readonly scale: number;
}

export function decimalOf(type: ColumnType): Decimal | null {
  const found = /^decimal\((\d+),(\d+)\)$/.exec(type);
  return found === null ? null : { precision: Number(found[1]), scale: Number(found[2]) };
}

const LONG_DIGITS = 19;
const SMALL_PRECISION = 18;
/** Scales are rounded up to one of these, so that a value with one more digit rarely changes the type. */
const SCALES = [2, 4, 6, 9, 12, 18];
const MAX_LONG = 2n ** 63n;

/** The decimal type for numbers with this many digits before and after the point; `string` if none holds them. */
function decimalFor(whole: number, scale: number): ColumnType {
  const rounded = SCALES.find((one) => one >= scale) ?? scale;
  if (whole + rounded <= SMALL_PRECISION) return `decimal(${SMALL_PRECISION},${rounded})`;
  if (whole + rounded <= MAX_DIGITS) return `decimal(${MAX_DIGITS},${rounded})`;
  return whole + scale <= MAX_DIGITS ? `decimal(${MAX_DIGITS},${scale})` : 'string';
}

/** The narrowest type that holds the values of both. Types are only widened, so a query keeps its meaning. */
export function joinTypes(a: ColumnType, b: ColumnType): ColumnType {
  if (a === b || b === 'empty') return a;
  if (a === 'empty') return b;
  const [x, y] = [capacity(a), capacity(b)];
  if (x === null || y === null) return 'string';
  const scale = Math.max(x.scale, y.scale);
  const whole = Math.max(x.whole, y.whole);
  return scale === 0 ? 'decimal(38,0)' : decimalFor(whole, scale);
}

function capacity(type: ColumnType): { readonly whole: number; readonly scale: number } | null {
  if (type === 'long') return { whole: LONG_DIGITS, scale: 0 };
  const decimal = decimalOf(type);
  return decimal && { whole: decimal.precision - decimal.scale, scale: decimal.scale };
}

/**
 * The first type of a column, given the type that the table has and the JSON types seen so far. It is text if
 * values of different JSON types share the column, even if each of them looks like the others.
 */
export function startType(type: ColumnType, types: number): ColumnType {
  const hasValues = typeNames(types).some((name) => name !== 'null');
  if (!hasValues) return type;
  const kind = valueClass(types);
  if (kind === 'text') return 'string';
  return type === 'empty' || type === 'string' || isOfClass(type, kind) ? type : 'string';
}

function isOfClass(type: ColumnType, kind: ValueClass): boolean {
  if (kind === 'boolean') return type === 'boolean';
  if (kind === 'string') return type === 'date' || type === 'timestamp';
  return type === 'long' || decimalOf(type) !== null;
}

/** The narrowest type for one value. */
export function typeOfValue(kind: ValueClass, cell: string): ColumnType {
  switch (kind) {
    case 'boolean':
      return cell === 'true' || cell === 'false' ? 'boolean' : 'string';
    case 'integer':
    case 'number':
      return typeOfNumber(kind, cell);
    case 'string':
      if (readTimestamp(cell, 'common') !== null) return 'timestamp';
      return readDate(cell, 'common') === null ? 'string' : 'date';
    default:
      return 'string';
  }
}

/** The narrowest type for all of these values. It can be narrower than the join of their types. */
export function typeOfValues(kind: ValueClass, cells: readonly (string | null)[]): ColumnType {
  let type: ColumnType = 'empty';
  let [whole, scale] = [0, 0];
  for (const cell of cells) {
    if (cell === null || type === 'string') continue;
    const number = kind === 'number' ? readNumber(cell) : null;
    if (number === null) {
      type = joinTypes(type, typeOfValue(kind, cell));
      continue;
    }
    scale = Math.max(scale, number.scale);
    whole = Math.max(whole, number.digits.length - number.scale);
    type = decimalFor(whole, scale);
  }
  return type;
}

function typeOfNumber(kind: 'integer' | 'number', cell: string): ColumnType {
  const number = readNumber(cell);
  if (number === null) return 'string';
  const { digits, scale, negative } = number;
  if (kind === 'number' || scale > 0) return decimalFor(Math.max(0, digits.length - scale), scale);
  const value = BigInt(digits);
  const isLong = negative ? value <= MAX_LONG : value < MAX_LONG;
  return isLong ? 'long' : 'decimal(38,0)';
}
