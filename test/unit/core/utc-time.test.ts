import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { dateSpan } from '../../../src/core/date-span.js';
import { isRunId, parseRunDate } from '../../../src/core/run-id.js';
import { momentOf, parseIsoTime, parseSince, readIsoTime } from '../../../src/core/utc-time.js';
import { Format, stringFormat } from '../../../src/core/value-facts.js';
import { isLater } from '../../../src/lake/rows/newer.js';
import { syncProblem } from '../../../src/mirror/request-queue.js';
import { parseTimestamp } from '../../../src/webhook/signature.js';

const MISSING = ['2026-02-30', '2026-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00'];

describe('An ISO 8601 time', () => {
  it.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-11-21T02:00Z', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T02:00:00.25Z', '2026-11-21T02:00:00.250Z'],
    ['2026-11-21T02:00:00+0130', '2026-11-21T00:30:00.000Z'],
    ['2026-11-21T02:00-01:30', '2026-11-21T03:30:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(new Date(parseIsoTime(text) ?? Number.NaN).toISOString()).toBe(expected);
  });

  it.each([
    ...MISSING,
    ...MISSING.map((date) => `${date}T00:00:00Z`),
    '2026-11-21T24:00:00Z',
    '2026-11-21T23:60:00Z',
    '2026-11-21T23:59:60Z',
    '2026-11-21T00:00:00+24:00',
    '2026-11-21T00:00:00',
    '2026-1-1',
    '',
  ])('%s does not exist or is not a time', (text) => {
    expect(parseIsoTime(text)).toBeNull();
  });
});

describe('The reader of times', () => {
  const date = fc.date({ min: new Date(0), max: new Date('2999-12-30'), noInvalidDate: true });

  it('reads what Date writes, with any zone and precision, wherever it is in a text', () => {
    const zone = fc.integer({ min: -23 * 60, max: 23 * 60 });
    fc.assert(
      fc.property(date, zone, fc.constantFrom(':', ''), fc.nat(9), (at, offset, colon, digits) => {
        const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, 23).padEnd(29, '0');
        const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60].map((part) =>
          String(part).padStart(2, '0'),
        );
        const sign = offset < 0 ? '-' : '+';
        const text = `${local.slice(0, digits === 0 ? 19 : 20 + digits)}${sign}${hours}${colon}${minutes}`;
        const step = 10 ** Math.max(0, 3 - digits);
        const expected = Math.floor(at.getTime() / step) * step;
        expect(parseIsoTime(text), text).toBe(expected);
        const time = readIsoTime(`7-${text}7-`, 2, 2 + text.length)!;
        expect([momentOf(time), time.fractionDigits]).toEqual([expected, digits]);
      }),
    );
  });

  it('reads the days that Date writes, and no others of a month', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9999 }), fc.nat(99), fc.nat(99), (year, month, day) => {
        const text = [
          String(year).padStart(4, '0'),
          ...[month, day].map((part) => String(part).padStart(2, '0')),
        ];
        const at = new Date(0).setUTCFullYear(year, month - 1, day);
        const exists = month >= 1 && month <= 12 && new Date(at).getUTCMonth() === month - 1 && day >= 1;
        expect(parseIsoTime(text.join('-'))).toBe(exists ? at : null);
      }),
    );
  });

  it('rejects a text where any character is another one', () => {
    for (const text of ['2026-11-21', '2026-11-21T02:00:00.123+01:00', '2026-11-21T02:00Z'])
      for (const at of text.slice(0, -1).split('').keys())
        for (const other of ['x', ' ', ':', '٣'])
          if (text[at] !== other)
            expect(parseIsoTime(text.slice(0, at) + other + text.slice(at + 1))).toBeNull();
  });

  it('is behind everything that compares or classifies times', () => {
    const text = '2026-11-21T02:00:00.5+01:00';
    const at = Date.parse(text);
    expect(dateSpan(text)).toEqual({ from: at, to: at });
    expect(isLater(text, '2026-11-21T01:00:00+0000')).toBe(true);
    expect(isLater('2026-11-21T02:00:00+0000', text)).toBe(true);
    expect(parseTimestamp('2026-11-21T01:00:00.5Z')).toBe(at);
    expect(stringFormat(text)).toBe(Format.millis);
  });
});

describe('A date that does not exist', () => {
  it.each(MISSING)('%s is rejected as a start of a backfill', (text) => {
    expect(parseSince(text)).toBeNull();
    expect(parseSince(`${text}T12:00:00+01:00`)).toBeNull();
  });

  it('is rejected by the update sync', () => {
    expect(
      syncProblem({ since: '2026-02-30T00:00:00Z' as never }, { resource: 'tasks', waiting: [] })?.message,
    ).toMatch(/since/);
  });

  it('is not valid in a run id', () => {
    const text = '20260230T020000Z-1a2b3c4d';
    expect(isRunId(text)).toBe(false);
    expect(() => parseRunDate(text as RunId)).toThrow(RangeError);
  });

  it('is not a valid timestamp of a change notice', () => {
    expect(parseTimestamp('2026-02-30T00:00:00Z')).toBeNull();
  });

  it('cannot be compared with a date that exists', () => {
    expect(isLater('2026-02-30', '2026-03-01')).toBeNull();
  });
});
