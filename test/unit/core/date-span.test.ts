import { describe, expect, it } from 'vitest';
import { dateSpan, formOf } from '../../../src/core/date-span.js';

const HOUR = 3_600_000;
const iso = (span: ReturnType<typeof dateSpan>) =>
  span === null ? null : [new Date(span.from).toISOString(), new Date(span.to).toISOString()];
const at = (time: string) => [time, time];

describe('The date of a window', () => {
  it.each([
    ['2026-08-09T10:00:00.5Z', '2026-08-09T10:00:00.500Z'],
    ['2026-08-09T10:00:00,500z', '2026-08-09T10:00:00.500Z'],
    ['2026-08-09 12:00:00.000+02:00', '2026-08-09T10:00:00.000Z'],
    ['2026-08-09T12:00:00.000+0200', '2026-08-09T10:00:00.000Z'],
    ['2026-08-09T06:00:00.000-04', '2026-08-09T10:00:00.000Z'],
    ['20260809T100000.000Z', '2026-08-09T10:00:00.000Z'],
    ['2026-W32-7T10:00:00.000Z', '2026-08-09T10:00:00.000Z'],
    ['2026-221T10:00:00.000Z', '2026-08-09T10:00:00.000Z'],
    ['2026-08-08T24:00:00.000Z', '2026-08-09T00:00:00.000Z'],
    ['1786269600', '2026-08-09T10:00:00.000Z'],
    ['1786269600000', '2026-08-09T10:00:00.000Z'],
    ['1786269600.5', '2026-08-09T10:00:00.500Z'],
    ['1.7862696e9', '2026-08-09T10:00:00.000Z'],
  ])('%s is the instant %s', (text, instant) => {
    expect(iso(dateSpan(text))).toEqual(at(instant));
  });

  it.each([
    ['2026-08-09', '2026-08-08T10:00:00.000Z', '2026-08-10T11:59:59.999Z'],
    ['20260809', '2026-08-08T10:00:00.000Z', '2026-08-10T11:59:59.999Z'],
    ['2026-221', '2026-08-08T10:00:00.000Z', '2026-08-10T11:59:59.999Z'],
    ['2026-W32-7', '2026-08-08T10:00:00.000Z', '2026-08-10T11:59:59.999Z'],
    ['2026W327', '2026-08-08T10:00:00.000Z', '2026-08-10T11:59:59.999Z'],
    ['2026-W32', '2026-08-02T10:00:00.000Z', '2026-08-10T11:59:59.999Z'],
    ['2026-08', '2026-07-31T10:00:00.000Z', '2026-09-01T11:59:59.999Z'],
    ['2026-08-09 10:00:00', '2026-08-08T20:00:00.000Z', '2026-08-09T22:00:00.999Z'],
    ['2026-08-09T10:00', '2026-08-08T20:00:00.000Z', '2026-08-09T22:00:59.999Z'],
    ['2026-08-09T10:00:00Z', '2026-08-09T10:00:00.000Z', '2026-08-09T10:00:00.999Z'],
    ['2026-08-09T10Z', '2026-08-09T10:00:00.000Z', '2026-08-09T10:59:59.999Z'],
  ])('%s can be any instant from %s to %s', (text, from, to) => {
    expect(iso(dateSpan(text))).toEqual([from, to]);
  });

  it.each([
    ...['09/08/2026', '9.8.2026', '08-09-2026', '2026/08/09', '9 Aug 2026', 'Sun, 09 Aug 2026 10:00:00 GMT'],
    ...[
      '2026-02-30',
      '2026-13-01',
      '2026-00-10',
      '2025-366',
      '2026-000',
      '2025-W53',
      '2026-W00',
      '2026-W32-8',
    ],
    ...['2026-08-09T25:00:00Z', '2026-08-09T24:00:01Z', '2026-08-09T10:60:00Z', '2026-08-09T10:00:00+25:00'],
    ...[
      '2026-08-09T10:00:00Z[Europe/Berlin]',
      '2026-08-09 10:00:00 UTC',
      '2026-08-09 10:00 AM',
      '2026-08T10:00Z',
    ],
    ...[
      '0',
      '3600',
      '-1786269600',
      '2026',
      '202608',
      '202608091000',
      '20260809100000',
      '09082026',
      '20082026',
    ],
    ...[
      '178626960000000',
      '/Date(1786269600000)/',
      '',
      ' 2026-08-09',
      'yesterday',
      '{"at":"2026-08-09"}',
      'true',
    ],
  ])('%j is none, because it would have to be guessed', (text) => {
    expect(dateSpan(text)).toBeNull();
  });

  it('agrees with the calendar for every day of 40 years, in each form', () => {
    for (let day = Date.UTC(1995, 0, 1); day < Date.UTC(2035, 0, 1); day += 24 * HOUR) {
      const date = new Date(day).toISOString().slice(0, 10);
      const ordinal = Math.round((day - Date.UTC(new Date(day).getUTCFullYear(), 0, 1)) / (24 * HOUR)) + 1;
      // The Thursday of a week decides its year.
      const weekday = ((new Date(day).getUTCDay() + 6) % 7) + 1;
      const thursday = new Date(day + (4 - weekday) * 24 * HOUR);
      const week =
        Math.floor((thursday.getTime() - Date.UTC(thursday.getUTCFullYear(), 0, 1)) / (7 * 24 * HOUR)) + 1;
      const year = date.slice(0, 4);
      for (const text of [
        date,
        date.replaceAll('-', ''),
        `${year}-${String(ordinal).padStart(3, '0')}`,
        `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}-${weekday}`,
      ])
        expect(dateSpan(text), text).toEqual({ from: day - 14 * HOUR, to: day + 36 * HOUR - 1 });
    }
  });

  it('is shown without its content in messages', () => {
    expect(formOf('09/08/2026')).toBe('00/00/0000');
    expect(formOf('9 août 2026')).toBe('0 xxxx 0000');
    expect(formOf('a very long text of a record that nobody may read')).toBe('x xxxx xxxx xxxx xx x xx...');
    expect(formOf('line\nbreak\u0000')).toBe('xxxx?xxxxx?');
  });
});
