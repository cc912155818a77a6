import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiRoot, isUtcSeconds } from '../../../src/api/index.js';
import { listQuery, resourceUrl, UnsendableError } from '../../../src/api/url.js';
import type { UtcSeconds } from '../../../src/core/brands.js';
import { cursor } from './support.js';

test.each([
  ['https://tracker.example.com', 'https://tracker.example.com/api/public/v2'],
  ['https://Tracker.example.com:443/', 'https://tracker.example.com/api/public/v2'],
  ['https://example.com:8443/tracker', 'https://example.com:8443/tracker/api/public/v2'],
  ['http://[::1]:1', 'http://[::1]:1/api/public/v2'],
])('apiRoot(%j) is %s', (baseUrl, root) => {
  expect(apiRoot(baseUrl)).toBe(root);
});

describe('resourceUrl', () => {
  test('keeps a segment in a round trip through the URL', () => {
    const segment = fc.string({ minLength: 1, unit: 'grapheme' }).filter((s) => s !== '.' && s !== '..');
    fc.assert(
      fc.property(segment, (one) => {
        const { pathname } = new URL(resourceUrl('https://h/api', ['calendar-entries', one]));
        expect(pathname.split('/').slice(0, 3)).toEqual(['', 'api', 'calendar-entries']);
        expect(pathname.split('/').slice(3).map(decodeURIComponent)).toEqual([one]);
      }),
    );
  });

  test.each(['', '.', '..', '\ud800'])('refuses the segment %j, which no URL can carry', (segment) => {
    expect(() => resourceUrl('https://h', [segment])).toThrow(UnsendableError);
  });
});

describe('listQuery', () => {
  test('keeps a cursor in a round trip through the query', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (text) => {
        const query = listQuery({ limit: 5, cursor: cursor(text), updatedSince: null });
        expect(new URLSearchParams(query).get('cursor')).toBe(text);
        expect(query).not.toMatch(/[+ ]/);
      }),
    );
  });

  test('omits parameters that are not set', () => {
    expect(listQuery({ limit: 5, cursor: null, updatedSince: null })).toBe('?limit=5');
    const since = '2026-11-21T02:00:00Z' as UtcSeconds;
    expect(listQuery({ limit: 5, cursor: cursor('a='), updatedSince: since })).toBe(
      '?limit=5&cursor=a%3D&updatedSince=2026-11-21T02%3A00%3A00Z',
    );
  });

  test.each([0, -1, 1.5, Number.NaN])('refuses the limit %d', (limit) => {
    expect(() => listQuery({ limit, cursor: null, updatedSince: null })).toThrow(RangeError);
  });

  test('refuses an empty cursor, which would start the list again', () => {
    expect(() => listQuery({ limit: 1, cursor: cursor(''), updatedSince: null })).toThrow(RangeError);
  });

  test('refuses an updatedSince of another form', () => {
    const updatedSince = '2026-11-21T02:00:00.000Z' as UtcSeconds;
    expect(() => listQuery({ limit: 1, cursor: null, updatedSince })).toThrow(RangeError);
  });
});

test.each([
  ['2026-11-21T02:00:00Z', true],
  ['2024-02-29T23:59:59Z', true],
  ['2026-02-29T00:00:00Z', false],
  ['2026-11-21T24:00:00Z', false],
  ['2026-11-21T02:00:00+00:00', false],
  ['2026-11-21 02:00:00Z', false],
  ['2026-11-21', false],
])('isUtcSeconds(%j) is %s', (text, expected) => {
  expect(isUtcSeconds(text)).toBe(expected);
});
