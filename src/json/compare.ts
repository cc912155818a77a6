import { dateSpan } from '../core/date-span.js';
import { sameDecimal } from '../core/decimal.js';
import { type IsoTime, readIsoTime } from '../core/utc-time.js';
import { withoutEnd } from '../core/without-end.js';
import type { JsonValue } from './value.js';

/**
 * Comparison of a value that was sent or published with the value that the service shows. Services write the same value in
 * several forms, and none of these is a difference. Pure, and linear in the length of the values.
 */

/** `absent`: the service does not show the value, or a part of it, and the rest is the same. */
export type Comparison = 'same' | 'different' | 'absent';

/** Longer texts are neither numbers nor times. */
const MAX_SCALAR_CHARS = 1000;

/**
 * Compares a value with the one that the service shows. Numbers are compared as exact decimals, times as instants, and
 * other texts after Unicode normalization (NFC) without white space at their ends. A number can be shown as a text and a
 * text as a number, and a text such as `true` as a boolean. Objects are compared by the members of `expected`, and lists in
 * their order.
 *
 * @param shown `null`: the service does not show the field at all
 */
export function compareValues(expected: JsonValue, shown: JsonValue | null): Comparison {
  if (shown === null) return 'absent';
  if (expected.kind === 'object')
    return shown.kind === 'object' ? compareMembers(expected.members, shown.members) : 'different';
  if (expected.kind === 'array') {
    if (shown.kind !== 'array' || shown.items.length !== expected.items.length) return 'different';
    return worst(expected.items.map((item, at) => compareValues(item, shown.items[at]!)));
  }
  return sameScalar(expected, shown) ? 'same' : 'different';
}

function compareMembers(
  expected: ReadonlyMap<string, JsonValue>,
  shown: ReadonlyMap<string, JsonValue>,
): Comparison {
  return worst([...expected].map(([name, value]) => compareValues(value, shown.get(name) ?? null)));
}

function worst(all: readonly Comparison[]): Comparison {
  if (all.includes('different')) return 'different';
  return all.includes('absent') ? 'absent' : 'same';
}

function sameScalar(expected: JsonValue, shown: JsonValue): boolean {
  const [a, b] = [textOf(expected), textOf(shown)];
  // Null is only itself: neither the text `null` nor the empty text.
  if (a === null || b === null || expected.kind === 'null' || shown.kind === 'null')
    return expected.kind === 'null' && shown.kind === 'null';
  if (a === b) return true;
  if (a.length > MAX_SCALAR_CHARS || b.length > MAX_SCALAR_CHARS) return plain(a) === plain(b);
  if (expected.kind === 'number' || shown.kind === 'number')
    return (isLiteral(a) && isLiteral(b) && sameDecimal(a, b)) || sameTime(a, b);
  return plain(a) === plain(b) || sameTime(a, b);
}

/** The text of a value that is neither an object nor a list; `null` for these. */
function textOf(value: JsonValue): string | null {
  if (value.kind === 'object' || value.kind === 'array') return null;
  if (value.kind === 'string') return value.text;
  return value.kind === 'number' ? value.literal : value.kind;
}

function plain(text: string): string {
  return text.normalize('NFC').trim();
}

/** A number as JSON writes it: a text such as `007` is not a number. */
function isLiteral(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text.trim());
}

/** Whether two texts mean the same time, as far as they say. */
function sameTime(one: string, other: string): boolean {
  const [a, b] = [one.trim(), other.trim()];
  const [exactA, exactB] = [readIsoTime(a), readIsoTime(b)];
  const hasClock = (time: IsoTime | null): time is IsoTime => time !== null && time.precision !== 'day';
  if (hasClock(exactA) && hasClock(exactB))
    return exactA.seconds === exactB.seconds && fractionOf(a, exactA) === fractionOf(b, exactB);
  const [spanA, spanB] = [dateSpan(a), dateSpan(b)];
  // Two numbers are compared as numbers: one is not the other in milliseconds.
  if (spanA === null || spanB === null || (isEpoch(a) && isEpoch(b))) return false;
  const [zonedA, zonedB] = [hasZone(a), hasZone(b)];
  // Without zones too: both spans begin at the first possible zone, so equal beginnings are equal clocks.
  if (zonedA === zonedB) return spanA.from === spanB.from && hasTime(a) === hasTime(b);
  // A date in place of a time has lost the time.
  if (hasTime(a) && !hasTime(b)) return false;
  return spanA.from <= spanB.to && spanB.from <= spanA.to;
}

/** The digits of a fraction of a second that count. */
function fractionOf(text: string, { fractionDigits }: IsoTime): string {
  const at = text.indexOf('.') + 1;
  return fractionDigits === 0 ? '' : withoutEnd(text.slice(at, at + fractionDigits), '0');
}

/** Whether a date or time says its zone. An epoch number is in UTC. */
function hasZone(text: string): boolean {
  return isEpoch(text) || /[Zz]$/.test(text) || (/[Tt ]/.test(text) && /[+-]\d\d(?::?\d\d)?$/.test(text));
}

function hasTime(text: string): boolean {
  return isEpoch(text) || /[Tt ]/.test(text);
}

/** Whether a text is the number of an instant. A date such as `20261120` is a whole day. */
function isEpoch(text: string): boolean {
  const span = isLiteral(text) ? dateSpan(text) : null;
  return span !== null && span.from === span.to;
}
