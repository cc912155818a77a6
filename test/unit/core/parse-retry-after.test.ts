import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHttpDate, parseRetryAfter, resetDelayMs } from '../../../src/core/parse-retry-after.js';

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

  test('reads a four-digit year as it is, also the zero time of some servers', () => {
    expect(parseHttpDate('Mon, 01 Jan 0001 00:00:00 GMT', NOW)).toBe(Date.parse('0001-01-01T00:00:00Z'));
    expect(parseHttpDate('Thu, 29 Feb 2024 23:59:60 GMT', NOW)).toBe(Date.UTC(2024, 2, 1));
    expect(parseHttpDate('Wed, 29 Feb 2023 00:00:00 GMT', NOW)).toBeNull();
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

  test.each(['-1', '+1', '1e3', '0x10', '120, 60', '1.', '.5', '1.2.3', 'soon', '', '١٢'])(
    'rejects %j',
    (text) => {
      expect(parseRetryAfter(text, clock)).toBeNull();
    },
  );

  test.each([
    ['a decimal', '1.5', 1500],
    ['the last number of seconds', '999999999', 999_999_999_000],
    ['an epoch in seconds', String(NOW / 1000 + 90), 90_000],
    ['an epoch in seconds with a fraction', `${NOW / 1000 + 90}.25`, 90_250],
    ['an epoch in milliseconds', String(NOW + 90_250), 90_250],
    ['an epoch in milliseconds with a fraction', `${NOW + 90_250}.75`, 90_251],
    ['an epoch in microseconds', String((NOW + 90_250) * 1000), 90_250],
    ['a past epoch in seconds', '1000000000', 0],
    ['a past epoch in milliseconds', String(NOW - 1), 0],
    ['now', String(NOW / 1000), 0],
  ])('reads %s', (_, text, delay) => {
    expect(parseRetryAfter(text, clock)).toBe(delay);
  });

  test('counts an epoch from the Date header of the same response, whatever the local clock is', () => {
    const odd = { serviceDateMs: NOW, nowMs: NOW + 5_000_000_000 };
    expect(parseRetryAfter(String(NOW / 1000 + 60), odd)).toBe(60_000);
    expect(parseRetryAfter(String(NOW + 60_000), odd)).toBe(60_000);
  });

  test('returns null without the header', () => {
    expect(parseRetryAfter(null, clock)).toBeNull();
  });

  test('is a whole number of milliseconds that is not negative, for any digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 400n }), fc.nat(999), (digits, fraction) => {
        const delay = parseRetryAfter(`${digits}.${fraction}`, clock)!;
        expect(Number.isSafeInteger(delay) && delay >= 0).toBe(true);
      }),
    );
  });

  test('is exact for any delay', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999 }), (seconds) => {
        expect(parseRetryAfter(String(seconds), clock)).toBe(seconds * 1000);
      }),
    );
  });
});

describe('resetDelayMs', () => {
  test.each([
    [{ 'x-ratelimit-reset': '30' }, 30_000],
    [{ 'x-ratelimit-reset': String(NOW / 1000 + 45) }, 45_000],
    [{ 'x-rate-limit-reset-after': '2.5' }, 2500],
    [{ 'ratelimit-reset': '0' }, 0],
    [{ ratelimit: '"default";r=0;t=12' }, 12_000],
    [{ ratelimit: 'limit=10, remaining=0, reset=7' }, 7000],
    [{ 'x-ratelimit-reset': new Date(NOW + 20_000).toUTCString() }, 20_000],
    [{ 'x-ratelimit-reset-minute': '10', 'x-ratelimit-reset-hour': '20' }, 20_000],
    [{ 'x-ratelimit-reset': '59000' }, null],
    [{ 'x-ratelimit-reset': 'tomorrow' }, null],
    [{ 'x-password-reset': '5' }, null],
    [{}, null],
  ])('resetDelayMs of %j is %s', (headers, expected) => {
    expect(resetDelayMs(headers, clock)).toBe(expected);
  });
});
