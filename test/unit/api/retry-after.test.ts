import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_RETRY_AFTER_MS, parseHttpDate, parseRetryAfter } from '../../../src/api/index.js';

const NOW = Date.UTC(2026, 10, 21, 2, 0, 0);
const clock = { serviceDateMs: null, nowMs: NOW };

describe('parseHttpDate', () => {
  const EXPECTED = Date.UTC(1994, 10, 6, 8, 49, 37);

  test.each([
    ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['asctime', 'Sun Nov  6 08:49:37 1994'],
  ])('reads the %s form', (_, text) => {
    expect(parseHttpDate(text, NOW)).toBe(EXPECTED);
  });

  test('reads a two-digit year as at most 50 years in the future', () => {
    expect(parseHttpDate('Sunday, 06-Nov-76 08:49:37 GMT', NOW)).toBe(Date.UTC(2076, 10, 6, 8, 49, 37));
    expect(parseHttpDate('Sunday, 06-Nov-77 08:49:37 GMT', NOW)).toBe(Date.UTC(1977, 10, 6, 8, 49, 37));
  });

  test.each([
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 30 Feb 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT and more',
    '1994-11-06T08:49:37Z',
    '',
  ])('rejects %j', (text) => {
    expect(parseHttpDate(text, NOW)).toBeNull();
  });

  test('is the inverse of toUTCString for every second of four-digit years', () => {
    const seconds = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59) / 1000 });
    fc.assert(fc.property(seconds, (s) => parseHttpDate(new Date(s * 1000).toUTCString(), NOW) === s * 1000));
  });
});

describe('parseRetryAfter', () => {
  test('reads delay-seconds', () => {
    expect(parseRetryAfter('120', clock)).toBe(120_000);
    expect(parseRetryAfter(' 0\t', clock)).toBe(0);
  });

  test('counts a date from the Date header of the same response, whatever the local clock is', () => {
    const at = new Date(NOW + 90_000).toUTCString();
    expect(parseRetryAfter(at, { serviceDateMs: NOW + 30_000, nowMs: NOW + 5_000_000 })).toBe(60_000);
    expect(parseRetryAfter(at, clock)).toBe(90_000);
  });

  test('never returns a negative delay', () => {
    expect(parseRetryAfter(new Date(NOW - 90_000).toUTCString(), clock)).toBe(0);
  });

  test.each(['1.5', '-1', '+1', '1e3', '0x10', '120, 60', 'soon', '', '١٢'])('rejects %j', (text) => {
    expect(parseRetryAfter(text, clock)).toBeNull();
  });

  test('returns null without the header', () => {
    expect(parseRetryAfter(null, clock)).toBeNull();
  });

  test('is exact up to its maximum, for any number of seconds', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 400n }), (seconds) => {
        const expected =
          seconds * 1000n < BigInt(MAX_RETRY_AFTER_MS) ? Number(seconds) * 1000 : MAX_RETRY_AFTER_MS;
        expect(parseRetryAfter(seconds.toString(), clock)).toBe(expected);
      }),
    );
  });
});
