import type { InputUnit, TimeUnit } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import { withoutEnd } from '../core/without-end.js';

/** Units of time, ms. */
const UNIT_MS: Readonly<Record<TimeUnit, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const UNIT_NAMES = Object.keys(UNIT_MS);

/** What the end of a field's name says about the unit of its values. */
const NAMED: readonly (readonly [end: RegExp, unit: TimeUnit | null])[] = [
  [/(?:milliseconds?|millis|msecs?|_ms)$/i, 'ms'],
  [/Ms$/, 'ms'],
  // Units that `--unit` does not have.
  [/(?:micro|nano|pico|centi|deci)s(?:ec(?:ond)?s?)?$/i, null],
  [/[unUN]secs?$/, null],
  [/(?:seconds?|secs?)$/i, 's'],
  [/(?:minutes?|mins?)$/i, 'min'],
  [/hours?$/i, 'h'],
  [/days?$/i, 'd'],
];

/** The unit that a field's name says; `null` if it says none. */
export function unitOfName(field: string): TimeUnit | null {
  return NAMED.find(([end]) => end.test(field))?.[1] ?? null;
}

/**
 * Reads the value of `--unit`: the unit of the cells, such as `h`; or the unit of the cells and that of the values, such as `h:s`.
 * Without the second, the field's name says it.
 *
 * @throws InputError
 */
export function unitOf(field: string, text: string): InputUnit {
  const [from, to = unitOfName(field), ...more] = text.split(':');
  if (to === null)
    throw new InputError(`the name ${JSON.stringify(field)} does not say the unit of its values`, {
      remedy: `Add it after a colon: ${field}=${text}:s`,
    });
  if (isUnit(from) && isUnit(to) && more.length === 0) return { from, to };
  throw new InputError(`${JSON.stringify(text)} is not a unit of ${field}`, {
    remedy: `The units are ${UNIT_NAMES.join(', ')}: ${field}=h, or ${field}=h:s for hours that are sent as seconds.`,
  });
}

function isUnit(text: string | undefined): text is TimeUnit {
  return text !== undefined && UNIT_NAMES.includes(text);
}

const DECIMAL = /^(-?)(\d{1,15})(?:\.(\d{1,15}))?$/;
const CLOCK = /^(-?)(\d{1,6}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?$/;

/** Whether a text is a duration such as `7:30`. */
export function isClock(text: string): boolean {
  return CLOCK.test(text.trim());
}

/**
 * A number or a duration such as `7:30` in another unit, as an exact decimal; `null` for any other text, and if the result has no
 * exact decimal, such as 10 minutes in hours.
 */
export function inUnit(text: string, { from, to }: InputUnit): string | null {
  const clock = CLOCK.exec(text);
  if (clock !== null) {
    const [, sign = '', hours = '0', minutes = '0', seconds = '0', rest = ''] = clock;
    const ms = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1_000;
    return quotient(sign, BigInt(ms + Number(rest.padEnd(3, '0'))), BigInt(UNIT_MS[to]));
  }
  const decimal = DECIMAL.exec(text);
  if (decimal === null) return null;
  const [, sign = '', whole = '', fraction = ''] = decimal;
  const units = BigInt(whole + fraction) * BigInt(UNIT_MS[from]);
  return quotient(sign, units, BigInt(UNIT_MS[to]) * 10n ** BigInt(fraction.length));
}

/** Most digits after the point. */
const MAX_PLACES = 18n;

function quotient(sign: string, dividend: bigint, divisor: bigint): string | null {
  const scaled = dividend * 10n ** MAX_PLACES;
  if (scaled % divisor !== 0n) return null;
  const digits = (scaled / divisor).toString().padStart(Number(MAX_PLACES) + 1, '0');
  const point = digits.length - Number(MAX_PLACES);
  const places = withoutEnd(digits.slice(point), '0');
  const number = `${digits.slice(0, point)}${places === '' ? '' : `.${places}`}`;
  return number === '0' ? number : sign + number;
}
