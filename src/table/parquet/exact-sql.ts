import {
  type ColumnType,
  type Decimal,
  decimalOf,
  MAX_DIGITS,
  type ValueClass,
} from '../rules/column-type.js';

/**
 * The rules of `src/table/rules` as SQL of DuckDB. A cast of DuckDB rounds and guesses, so each text is first matched with the form
 * that the cast reads exactly.
 */

const PLAIN_NUMBER = String.raw`-?(0|[1-9]\d*)(\.\d+)?`;
const NUMBER = String.raw`${PLAIN_NUMBER}([eE][+-]?\d+)?`;
const TIME = String.raw`([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6}0*)?`;
const OFFSET = String.raw`[+-]([01]\d|2[0-3]):[0-5]\d`;
/** A time with a zone in any year. */
const TIMESTAMP = String.raw`\d{4}-\d\d-\d\d[Tt]${TIME}([Zz]|${OFFSET})`;
/** Years whose every moment is in the range of all types, whatever the zone. */
const COMMON_TIMESTAMP = String.raw`(19[1-9]\d|[2-8]\d{3})-\d\d-\d\dT${TIME}(Z|${OFFSET})`;
const DATE = String.raw`\d{4}-\d\d-\d\d`;
const LONG = String.raw`-?(0|[1-9]\d{0,18})`;

const matches = (text: string, pattern: string): string => `regexp_full_match(${text}, '${pattern}')`;
const extract = (text: string, pattern: string): string => `regexp_extract(${text}, '${pattern}', 1)`;

/** Macros that the other expressions use. A connection defines them once. */
export const MACROS: readonly string[] = [
  // The digits and the scale of a number, which can be below 0, as text without an exponent.
  `CREATE MACRO plain_digits(digits, scale) AS CASE
    WHEN ltrim(digits, '0') = '' THEN '0'
    WHEN scale IS NULL OR scale < -${MAX_DIGITS} OR scale > ${MAX_DIGITS} + length(digits) THEN NULL
    WHEN scale <= 0 THEN ltrim(digits, '0') || repeat('0', -scale)
    WHEN scale < length(digits) THEN
      coalesce(nullif(ltrim(left(digits, length(digits) - scale), '0'), ''), '0') || '.' || right(digits, scale)
    ELSE '0.' || lpad(digits, CAST(scale AS INTEGER), '0') END`,
  // A number literal without its exponent; NULL for other text, and for a number with far too many digits.
  `CREATE MACRO plain_number(x) AS CASE
    WHEN NOT ${matches('x', NUMBER)} THEN NULL
    WHEN NOT regexp_matches(x, '[eE]') THEN x
    ELSE CASE WHEN x[1] = '-' THEN '-' ELSE '' END || plain_digits(
      ${extract('x', String.raw`^-?(\d+)`)} || ${extract('x', String.raw`\.(\d+)`)},
      length(${extract('x', String.raw`\.(\d+)`)}) - TRY_CAST(${extract('x', String.raw`[eE]([+-]?\d+)$`)} AS BIGINT))
    END`,
  `CREATE MACRO plain_long(x) AS CASE
    WHEN ${matches('x', String.raw`${LONG}(\.0+)?`)} THEN TRY_CAST(${extract('x', String.raw`^(-?\d+)`)} AS BIGINT) END`,
  `CREATE MACRO exact_long(x) AS CASE
    WHEN ${matches('x', LONG)} THEN TRY_CAST(x AS BIGINT)
    ELSE plain_long(plain_number(x)) END`,
  `CREATE MACRO utc_from(moment, earliest) AS CASE
    WHEN moment >= earliest AND moment < TIMESTAMPTZ '10000-01-01 00:00:00+00' THEN moment END`,
  `CREATE MACRO exact_timestamp(x, earliest) AS CASE
    WHEN ${matches('x', COMMON_TIMESTAMP)} THEN TRY_CAST(x AS TIMESTAMPTZ)
    WHEN ${matches('x', TIMESTAMP)} THEN utc_from(TRY_CAST(upper(x) AS TIMESTAMPTZ), earliest) END`,
  `CREATE MACRO exact_date(x, earliest) AS CASE
    WHEN ${matches('x', DATE)} AND x >= earliest THEN TRY_CAST(x AS DATE) END`,
  `CREATE MACRO exact_double(x) AS CASE
    WHEN ${matches('x', NUMBER)} AND isfinite(TRY_CAST(x AS DOUBLE)) THEN CAST(x AS DOUBLE) END`,
  `CREATE MACRO exact_boolean(x) AS CASE x WHEN 'true' THEN true WHEN 'false' THEN false END`,
  // Of a number: digits before the point times 100, plus digits after it, plus 10,000 if 64 bits hold it. -1 for other text.
  `CREATE MACRO digits_class(whole, fraction, isLong) AS CASE
    WHEN length(whole) + length(fraction) > ${MAX_DIGITS} THEN -1
    ELSE length(whole) * 100 + length(fraction) + CASE WHEN isLong THEN 10000 ELSE 0 END END`,
  `CREATE MACRO plain_class(x) AS CASE WHEN x IS NULL THEN -1 ELSE digits_class(
    ltrim(${extract('x', String.raw`^-?(\d+)`)}, '0'), rtrim(${extract('x', String.raw`\.(\d+)$`)}, '0'),
    plain_long(x) IS NOT NULL) END`,
  'CREATE MACRO number_class(x) AS plain_class(plain_number(x))',
  `CREATE MACRO plain_timestamp(x) AS CASE WHEN ${matches('x', COMMON_TIMESTAMP)} THEN TRY_CAST(x AS TIMESTAMPTZ) END`,
];

/** Which years are accepted: those that every engine reads, for a type that was inferred, or all that a type can hold. */
export type Years = 'common' | 'all';

/**
 * The first year that is accepted. Some engines reject those before 1900 in files of other writers, because of the calendar reform.
 * A column with earlier values is text, unless `tables.types` says otherwise.
 */
const YEAR: Readonly<Record<Years, string>> = { common: '1900', all: '0001' };

/**
 * Which forms of a value are read: those without an exponent and in a common year, or all. Hardly a service sends others, and DuckDB
 * plans the expression for all forms of a number 40 times as long.
 */
export type Forms = 'plain' | 'all';

/**
 * SQL for the value of a text in a column's type; NULL if the type cannot hold it exactly, or it has not one of the forms.
 *
 * @param x SQL for a text
 */
export function exactValue(type: ColumnType, x: string, years: Years, forms: Forms = 'all'): string {
  return forms === 'plain' ? plainValue(type, x, years) : anyValue(type, x, years);
}

function plainValue(type: ColumnType, x: string, years: Years): string {
  const decimal = decimalOf(type);
  if (decimal !== null)
    return `CASE WHEN ${matches(x, decimalForm(decimal))} THEN ${decimalCast(x, decimal)} END`;
  if (type === 'long') return `CASE WHEN ${matches(x, LONG)} THEN TRY_CAST(${x} AS BIGINT) END`;
  return type === 'timestamp' ? `plain_timestamp(${x})` : anyValue(type, x, years);
}

function anyValue(type: ColumnType, x: string, years: Years): string {
  const first = `${YEAR[years]}-01-01`;
  switch (type) {
    case 'string':
      return x;
    case 'empty':
      return 'NULL';
    case 'timestamp':
      return `exact_timestamp(${x}, TIMESTAMPTZ '${first} 00:00:00+00')`;
    case 'date':
      return `exact_date(${x}, '${first}')`;
    case 'boolean':
    case 'long':
    case 'double':
      return `exact_${type}(${x})`;
    default:
      return exactDecimal(x, decimalOf(type)!);
  }
}

function exactDecimal(x: string, decimal: Decimal): string {
  const form = decimalForm(decimal);
  return `CASE WHEN ${matches(x, form)} THEN ${decimalCast(x, decimal)}
    WHEN regexp_matches(${x}, '[eE]') AND ${matches(`plain_number(${x})`, form)} THEN ${decimalCast(`plain_number(${x})`, decimal)} END`;
}

function decimalForm({ precision, scale }: Decimal): string {
  const digits = precision - scale;
  const whole = digits === 0 ? '0' : String.raw`(0|[1-9]\d{0,${digits - 1}})`;
  const fraction = scale === 0 ? String.raw`(\.0+)?` : String.raw`(\.\d{1,${scale}}0*)?`;
  return `-?${whole}${fraction}`;
}

function decimalCast(x: string, { precision, scale }: Decimal): string {
  return `CAST(${x} AS DECIMAL(${precision},${scale}))`;
}

/** The class of a number that may have an exponent, when only plain ones are read. */
export const NOT_PLAIN = -2;

/** SQL for a number that says which type a text needs at least, for `widenedType`. @param x SQL for a text */
export function classOfValue(kind: ValueClass, x: string, forms: Forms): string {
  switch (kind) {
    case 'boolean':
      return `CASE WHEN exact_boolean(${x}) IS NULL THEN 0 ELSE 1 END`;
    case 'integer':
    case 'number':
      return forms === 'all'
        ? `number_class(${x})`
        : `CASE WHEN ${matches(x, PLAIN_NUMBER)} THEN plain_class(${x}) ELSE ${NOT_PLAIN} END`;
    case 'string':
      return `CASE WHEN ${exactValue('timestamp', x, 'common')} IS NOT NULL THEN 1
        WHEN ${exactValue('date', x, 'common')} IS NOT NULL THEN 2 ELSE 0 END`;
    default:
      return '0';
  }
}
