import { withoutEnd } from './without-end.js';

/**
 * Comparison of number literals as exact decimals: a double cannot tell 9007199254740993 from 9007199254740992. Pure.
 */

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** A double tells any two decimals with so many digits apart, in their order. */
export const EXACT_DIGITS = 15;
const SIMPLE = /^-?\d{1,9}(?:\.\d{1,6})?$/;

/** A number as sign, digits without zeros at either end, and the power of ten of the first digit. */
interface Decimal {
  readonly sign: -1 | 0 | 1;
  readonly digits: string;
  readonly exponent: number;
}

/** A limit that many literals are compared with. */
export interface DecimalLimit {
  readonly text: string;
  readonly exact: Decimal;
  /** The same as a double, if that is exact for the comparison with simple literals; otherwise `null`. */
  readonly simple: number | null;
}

/** Whether a text is a number literal of JSON or YAML, such as `-12.50` or `1e21`. */
export function isDecimal(text: string): boolean {
  return NUMBER.test(text);
}

/** @throws RangeError if the text is not a number */
export function decimalLimit(text: string): DecimalLimit {
  const exact = readDecimal(text);
  if (exact === null) throw new RangeError(`${JSON.stringify(text)} is not a number`);
  return { text, exact, simple: SIMPLE.test(text) ? Number(text) : null };
}

/** Compares a literal with a limit: negative, 0 or positive; `null` if the text is not a number. */
export function compareWith(text: string, limit: DecimalLimit): number | null {
  if (limit.simple !== null && text.length <= EXACT_DIGITS && SIMPLE.test(text))
    return Number(text) - limit.simple || 0; // never -0, which `-0` minus `0` is
  const number = readDecimal(text);
  return number === null ? null : compare(number, limit.exact);
}

/** Whether two number literals are the same number, as exact decimals; `false` if one of them is not a number. */
export function sameDecimal(one: string, other: string): boolean {
  const [a, b] = [readDecimal(one.trim()), readDecimal(other.trim())];
  return a !== null && b !== null && compare(a, b) === 0;
}

function readDecimal(text: string): Decimal | null {
  const found = NUMBER.exec(text);
  if (found === null) return null;
  const [, minus, whole = '', fraction = '', exponent = '0'] = found;
  const all = whole + fraction;
  const first = /[1-9]/.exec(all)?.index ?? -1;
  if (first === -1) return { sign: 0, digits: '', exponent: 0 };
  return {
    sign: minus === '-' ? -1 : 1,
    digits: withoutEnd(all.slice(first), '0'),
    exponent: whole.length - first + Number(exponent),
  };
}

function compare(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign || a.sign === 0) return a.sign - b.sign;
  if (a.exponent !== b.exponent) return a.sign * (a.exponent - b.exponent);
  if (a.digits === b.digits) return 0;
  // Digits without trailing zeros are fractions after the same point, so their order is that of the texts.
  return a.sign * (a.digits < b.digits ? -1 : 1);
}
