/** An exact decimal number: `digits` without leading zeros, the last `scale` of them after the point. */
export interface ExactNumber {
  readonly negative: boolean;
  /** Empty for zero. */
  readonly digits: string;
  /** From 0. Trailing zeros after the point do not count. */
  readonly scale: number;
}

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** The most digits of Delta's decimals. */
export const MAX_DIGITS = 38;

/** Whether a text is a number literal of JSON (RFC 8259 section 6). */
export function isNumber(text: string): boolean {
  return NUMBER.test(text);
}

/** Reads a number literal (RFC 8259 section 6). @returns `null` for other text, and for a number with more than 38 digits */
export function readNumber(text: string): ExactNumber | null {
  const found = NUMBER.exec(text);
  if (found === null) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = found;
  let digits = whole! + fraction;
  let scale = fraction.length - Number(exponent);
  let end = digits.length;
  while (end > 0 && scale > digits.length - end && digits.charCodeAt(end - 1) === 0x30) end--;
  scale -= digits.length - end;
  digits = digits.slice(0, end).replace(/^0+/, '');
  if (digits === '') return { negative: false, digits, scale: 0 };
  if (scale < 0) {
    if (digits.length - scale > MAX_DIGITS) return null;
    digits += '0'.repeat(-scale);
    scale = 0;
  }
  if (Math.max(digits.length, scale) > MAX_DIGITS) return null;
  return { negative: sign === '-', digits, scale };
}

/** The number times ten to the power of `scale`, which must not be less than its own scale. */
export function unscaled(number: ExactNumber, scale: number): bigint {
  const value = BigInt(number.digits + '0'.repeat(scale - number.scale));
  return number.negative ? -value : value;
}
