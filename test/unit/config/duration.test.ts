import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../../src/core/duration.js';

describe('durations', () => {
  it.each([
    ['90d', 7_776_000_000],
    ['6h', 21_600_000],
    ['5m', 300_000],
    ['30s', 30_000],
    ['500ms', 500],
    ['2w', 1_209_600_000],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['0s', 0],
    ['90m', 5_400_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '5', 'm', '-5m', '1.5h', '5M', '5m1h', '5m5m', 'P90D', '2026-11-21', '5 fortnights'])(
    'refuses %j and says what is allowed',
    (text) => {
      expect(() => parseDuration(text)).toThrow(/is not a duration; allowed: .*1h30m/);
    },
  );

  it.each([
    ['5min', '5m'],
    ['5 m', '5m'],
    [' 5m', '5m'],
    ['5m\n', '5m'],
    ['1 hour 30 minutes', '1h30m'],
    ['2 Days, 3 hrs', '2d3h'],
    ['500 msec', '500ms'],
    ['1 week', '1w'],
  ])('refuses %j and says what to write', (text, meant) => {
    expect(() => parseDuration(text)).toThrow(`is not a duration; write ${meant}`);
    expect(parseDuration(meant)).toBeGreaterThan(0);
  });

  it('rejects durations that are not exact in milliseconds', () => {
    expect(() => parseDuration('999999999999999d')).toThrow(/too long/);
  });

  it('writes the shortest exact text', () => {
    expect([90 * 86_400_000, 5_400_000, 0, 1, 0.4, 61_000, -1500].map(formatDuration)).toEqual([
      '90d',
      '1h30m',
      '0s',
      '1ms',
      '0s',
      '1m1s',
      '-1s500ms',
    ]);
    expect(() => formatDuration(Number.NaN)).toThrow(RangeError);
  });

  it('parses every duration that it formats', () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  it('adds up any chain of units from the largest to the smallest', () => {
    const sizes = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
    const amounts = fc.record(
      { w: fc.nat(999), d: fc.nat(999), h: fc.nat(999), m: fc.nat(999), s: fc.nat(999), ms: fc.nat(999) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(amounts, (parts) => {
        const units = (Object.keys(sizes) as (keyof typeof sizes)[]).filter(
          (unit) => parts[unit] !== undefined,
        );
        fc.pre(units.length > 0);
        const text = units.map((unit) => `${parts[unit]}${unit}`).join('');
        expect(parseDuration(text)).toBe(
          units.reduce((sum, unit) => sum + (parts[unit] ?? 0) * sizes[unit], 0),
        );
      }),
    );
  });

  it('always returns an integer or throws a RangeError', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9wdhms. -]{0,12}$/), (text) => {
        try {
          expect(Number.isSafeInteger(parseDuration(text))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});
