import { describe, expect, it } from 'vitest';
import type { Cursor, UtcSeconds } from '../../../src/core/brands.js';
import type { ChainPosition } from '../../../src/run/read/prefetched-page.js';
import {
  isSmallest,
  otherFirstPage,
  smallerPages,
  withSmallerPages,
} from '../../../src/run/read/smaller-pages.js';

const SINCE = '2026-11-20T12:00:00Z' as UtcSeconds;
const EARLIER = '2026-11-20T11:00:00Z' as UtcSeconds;
const FIRST: ChainPosition = {
  ...{ cursor: null, updatedSince: null, chain: 4, restarts: 0, shrinks: 0, pageSize: 500 },
};
const LATER: ChainPosition = { ...FIRST, cursor: 'c7' as Cursor };
const CHANGES: ChainPosition = { ...FIRST, updatedSince: SINCE };

describe('Smaller pages', () => {
  it('have half the records, a quarter, and so on, down to one', () => {
    const sizes = [...smallerPages(FIRST)].map(({ pageSize }) => pageSize);
    expect(sizes).toEqual([250, 125, 62, 31, 15, 7, 3, 1]);
    expect([...smallerPages({ ...FIRST, pageSize: 1 })]).toEqual([]);
  });

  it('begin the list again in its middle, and nothing changes but the size at its beginning', () => {
    const [first] = smallerPages(FIRST);
    expect(first).toEqual({ ...FIRST, pageSize: 250 });
    const [later] = smallerPages(LATER);
    expect(later).toEqual({ ...LATER, cursor: null, pageSize: 250, chain: 5, shrinks: 1 });
  });

  it.each([
    ['one record per page', { shrinks: 1, pageSize: 1 }, true],
    ['five beginnings', { shrinks: 5, pageSize: 16 }, true],
    ['four beginnings', { shrinks: 4, pageSize: 16 }, false],
    ['one record per page from the start', { shrinks: 0, pageSize: 1 }, false],
  ])('end for a later page after %s: %o', (_, at, expected) => {
    expect(isSmallest({ ...LATER, ...at })).toBe(expected);
    expect(isSmallest({ ...FIRST, ...at })).toBe(false);
  });

  it.each([
    [0, null],
    [1, 250],
    [3, 62],
    [20, 1],
  ])('follow %i halvings after attempts that died', (halvings, pageSize) => {
    const found = withSmallerPages({ ...LATER, done: false }, halvings);
    expect(found?.pageSize ?? null).toBe(pageSize);
    expect(found?.shrinks ?? null).toBe(pageSize === null ? null : 1);
    expect(withSmallerPages({ ...LATER, done: true }, halvings)).toBeNull();
    expect(withSmallerPages({ ...LATER, pageSize: 1, done: false }, halvings)).toBeNull();
  });
});

describe('A rejected first page', () => {
  const half = { pageSize: 250 };
  const all = { updatedSince: null, refusedSince: 'too-old' };
  const hourEarlier = { updatedSince: EARLIER, refusedSince: 'too-new' };
  it.each<[what: string, at: ChainPosition, status: number, says: string, expected: object | null]>([
    ['of a full read has half the size', FIRST, 400, 'bad request', half],
    ['of one record has no other', { ...FIRST, pageSize: 1 }, 400, 'bad request', null],
    ['that has ended has no other', FIRST, 410, 'gone', null],
    ['of changes reads everything', CHANGES, 400, 'bad request', all],
    ['of changes that have ended reads everything', CHANGES, 410, 'gone', all],
    ['of changes with words about its size has half the size', CHANGES, 400, 'limit is at most 100', half],
    ['of changes that is too large has half the size', CHANGES, 413, 'updatedSince', half],
    ['of changes with words about an old time reads everything', CHANGES, 400, 'limit of 90 days', all],
    ['of changes whose time is too new asks an hour earlier', CHANGES, 400, 'is in the future', hourEarlier],
    [
      'of changes whose time is too new again reads everything',
      { ...CHANGES, refusedSince: 'too-new' },
      400,
      'is in the future',
      all,
    ],
  ])('%s', (_, at, status, says, expected) => {
    const rejection = { status, message: says, details: '' };
    const found = otherFirstPage(at, rejection, { accepted: at.pageSize });
    expect(found?.at ?? null).toEqual(expected === null ? null : { ...at, ...expected });
    const isRefused = expected !== null && 'refusedSince' in expected;
    expect(found?.refused).toBe(isRefused ? SINCE : undefined);
  });

  it.each<[what: string, message: string, details: string, pageSize: number, expected: object]>([
    ['takes back a larger size first', 'bad request', '', 500, { pageSize: 250 }],
    ['takes back no more than it has added', 'bad request', '', 300, { pageSize: 200 }],
    ['takes back nothing for words about its time', 'too old', '', 500, all],
    ['takes back nothing for words about a new time', 'not yet', '{"limit":1}', 500, hourEarlier],
    ['takes back nothing for details about its time', 'invalid', '{"field":"updatedSince"}', 500, all],
    ['reads details for words about its size', 'invalid', '{"field":"limit"}', 200, { pageSize: 100 }],
    ['believes its message before details', 'limit is 100', '{"timestamp":1}', 200, { pageSize: 100 }],
    ['has no time to give up before the size', 'limit of days', '', 500, { pageSize: 250 }],
  ])('of changes %s', (_, message, details, pageSize, expected) => {
    const at = { ...CHANGES, pageSize };
    const found = otherFirstPage(at, { status: 400, message, details }, { accepted: 200 });
    expect(found?.at).toEqual({ ...at, ...expected });
  });

  it('of an audit asks only for changes since the last reading, if all changes are refused', () => {
    const refusal = { status: 400, message: 'too old', details: '' };
    const accepted = CHANGES.pageSize;
    const found = otherFirstPage({ ...CHANGES, updatedSince: EARLIER }, refusal, {
      orSince: SINCE,
      accepted,
    });
    expect(found).toEqual({ at: CHANGES });
    expect(otherFirstPage(CHANGES, refusal, { orSince: SINCE, accepted })?.at.updatedSince).toBeNull();
  });
});
