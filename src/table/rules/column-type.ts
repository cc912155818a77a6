import { typeNames } from '../../core/value-facts.js';

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

/** The most digits of Delta's decimals. */
export const MAX_DIGITS = 38;
const LONG_DIGITS = 19;
const SMALL_PRECISION = 18;
/** Scales are rounded up to one of these, so that a value with one more digit rarely changes the type. */
const SCALES = [2, 4, 6, 9, 12, 18];

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

const OTHER_TEXT = -1;
/** By the class of a text. */
const TYPES_OF_TEXT: readonly ColumnType[] = ['string', 'timestamp', 'date'];
/** Added to the class of a number that 64 bits hold as an integer. */
const IN_LONG = 10_000;

/**
 * The type of a column, widened by values that do not fit it; of a column without one, the narrowest type for its values.
 *
 * @param classes of the values (`classOfValue` in `src/table/parquet/exact-sql.ts`), in any order
 */
export function widenedType(type: ColumnType, kind: ValueClass, classes: readonly number[]): ColumnType {
  if (classes.length === 0) return type;
  // Together, numbers can have a narrower type than the join of their types.
  if (kind === 'integer' || kind === 'number') return joinTypes(type, typeOfNumbers(kind, classes));
  return classes.reduce((joined, code) => joinTypes(joined, typeOfClass(kind, code)), type);
}

function typeOfClass(kind: ValueClass, code: number): ColumnType {
  if (kind === 'boolean') return code === 1 ? 'boolean' : 'string';
  return kind === 'string' ? TYPES_OF_TEXT[code]! : 'string';
}

function typeOfNumbers(kind: 'integer' | 'number', codes: readonly number[]): ColumnType {
  if (codes.includes(OTHER_TEXT)) return 'string';
  const whole = Math.max(...codes.map((code) => Math.floor((code % IN_LONG) / 100)));
  const scale = Math.max(...codes.map((code) => code % 100));
  if (kind === 'number' || scale > 0) return decimalFor(whole, scale);
  return codes.every((code) => code >= IN_LONG) ? 'long' : 'decimal(38,0)';
}
