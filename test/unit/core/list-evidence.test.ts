import { describe, expect, it } from 'vitest';
import {
  countsChanges,
  deletesAllowed,
  doubtOf,
  hasExactTotal,
  isIncomplete,
  type ListDoubt,
  NO_EVIDENCE,
  NOTHING_READ,
  nextPart,
  type PageEvidence,
  type PartSign,
  type ReadingEvidence,
  withPage,
} from '../../../src/core/list-evidence.js';

type Pages = readonly (readonly [records: number, evidence: Partial<PageEvidence>])[];

const readingOf = (pages: Pages): ReadingEvidence =>
  pages.reduce(
    (reading, [records, evidence]) => withPage(reading, { ...NO_EVIDENCE, ...evidence }, records),
    NOTHING_READ,
  );

describe('What the pages of a reading say about the list', () => {
  const said = { kind: 'said', words: 'partial' } as const;
  const short = (read: number, total: number, isProven: boolean): ListDoubt => ({
    kind: 'total',
    read,
    total,
    isProven,
  });

  it.each<
    [string, Pages, { unproven: ListDoubt | null; proven?: ListDoubt | null; changes?: ListDoubt | null }]
  >([
    ['nothing', [[10, {}]], { unproven: null }],
    [
      'that it is incomplete, on any page',
      [
        [10, {}],
        [3, { incomplete: 'partial' }],
        [2, {}],
      ],
      { unproven: said, changes: said },
    ],
    [
      'its exact total',
      [
        [10, { total: 12 }],
        [2, { total: 12 }],
      ],
      { unproven: null },
    ],
    [
      'a larger total',
      [
        [10, { total: 20 }],
        [2, { total: 20 }],
      ],
      { unproven: short(12, 20, false), proven: short(12, 20, true), changes: short(12, 20, true) },
    ],
    [
      'a total on its first page only',
      [
        [10, { total: 20 }],
        [2, {}],
      ],
      { unproven: short(12, 20, false), proven: short(12, 20, true), changes: short(12, 20, true) },
    ],
    [
      'a total that differs between pages',
      [
        [10, { total: 20 }],
        [2, { total: 21 }],
      ],
      { unproven: null },
    ],
    [
      'a total below what was read',
      [
        [10, { total: 10 }],
        [2, { total: 10 }],
      ],
      { unproven: null },
    ],
    ['an odd end on its only page', [[10, { oddEnd: '[]' }]], { unproven: null }],
    [
      'an odd end on a page that is less full',
      [
        [10, {}],
        [9, { oddEnd: '[]' }],
      ],
      { unproven: null },
    ],
    [
      'an odd end on an empty page',
      [
        [0, {}],
        [0, { oddEnd: '[]' }],
      ],
      { unproven: null },
    ],
    [
      'an odd end on a full page',
      [
        [10, {}],
        [10, { oddEnd: '[]' }],
      ],
      { unproven: { kind: 'full-end', words: '[]' }, changes: { kind: 'full-end', words: '[]' } },
    ],
  ])('%s', (_, pages, { unproven, proven = unproven, changes = null }) => {
    const reading = readingOf(pages);
    expect(doubtOf(reading, { of: 'all', trust: 'unproven' })).toEqual(unproven);
    expect(doubtOf(reading, { of: 'all', trust: 'proven' })).toEqual(proven);
    expect(doubtOf(reading, { of: 'all', trust: 'proven-of-changes' })).toEqual(proven);
    expect(doubtOf(reading, { of: 'changes', trust: 'proven-of-changes' })).toEqual(changes);
    // The total may be that of the whole list, which services often count without `updatedSince`.
    for (const trust of ['proven', 'proven-of-list', 'unproven', 'ignored'] as const) {
      const ofChanges = doubtOf(reading, { of: 'changes', trust });
      expect(ofChanges).toEqual(changes?.kind === 'total' ? null : changes);
    }
    const ignored = doubtOf(reading, { of: 'all', trust: 'ignored' });
    expect(ignored).toEqual(unproven?.kind === 'total' ? null : unproven);
  });

  it.each([
    ['proven', 21, true],
    ['proven', 20, false],
    ['proven-of-list', 1000, false],
    ['unproven', 1000, false],
    ['window', 1000, false],
    ['ignored', 1000, false],
  ] as const)(
    'with a total of 10 changes, trust %s and a list of %i lacks records: %s',
    (trust, listed, lacks) => {
      const doubt = doubtOf(readingOf([[5, { total: 10 }]]), { of: 'changes', trust, listed });
      expect(doubt).toEqual(lacks ? { kind: 'total', read: 5, total: 10, isProven: true } : null);
    },
  );

  it('proves a total only if it is exact', () => {
    expect(
      hasExactTotal(
        readingOf([
          [10, { total: 12 }],
          [2, {}],
        ]),
      ),
    ).toBe(true);
    expect(
      hasExactTotal(
        readingOf([
          [10, { total: 13 }],
          [2, {}],
        ]),
      ),
    ).toBe(false);
    expect(hasExactTotal(readingOf([[10, {}]]))).toBe(false);
  });

  it('shows by changes of a complete list whether their totals count changes alone', () => {
    const all = readingOf([[10, { total: 10 }]]);
    const changes = (records: number, total: number | null) =>
      countsChanges(all, readingOf([[records, { total }]]));
    expect([changes(0, 0), changes(3, 3)]).toEqual([true, true]);
    expect([changes(0, 10), changes(3, 10), changes(3, 11)]).toEqual([false, false, false]);
    // All records have changed, some are lost, or more were deleted than changed.
    expect([changes(10, 10), changes(3, 4), changes(3, 9), changes(3, null)]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect(countsChanges(readingOf([[10, { total: 12 }]]), readingOf([[0, { total: 0 }]]))).toBeNull();
  });

  it('decides what deletes are concluded from, and whether the reading is incomplete', () => {
    const unproven = short(1, 2, false);
    const proven = short(1, 2, true);
    expect([said, unproven, proven].map(isIncomplete)).toEqual([true, false, true]);
    expect(deletesAllowed([])).toBe('all');
    expect(deletesAllowed([unproven])).toBe('by-id');
    expect(deletesAllowed([proven])).toBe('by-id');
    expect(deletesAllowed([proven, said])).toBe('none');
  });
});

describe('A page that says that it is not the whole list', () => {
  const words = 'partial';
  type Range = NonNullable<PartSign['range']>;
  const page = (range: Range | null): Partial<PageEvidence> => ({
    part: { words, range },
    total: range?.total ?? null,
  });
  const range = (from: number | null, to: number | null, total: number | null) => page({ from, to, total });
  const plain = page(null);

  it.each<[string, Pages, 'said' | null]>([
    ['which is all there is', [[10, plain]], 'said'],
    [
      'as each one before the last',
      [
        [10, plain],
        [10, plain],
        [3, {}],
      ],
      null,
    ],
    [
      'as the first of two',
      [
        [10, plain],
        [3, {}],
      ],
      null,
    ],
    [
      'as each one',
      [
        [10, plain],
        [3, plain],
      ],
      'said',
    ],
    [
      'as one of many',
      [
        [10, {}],
        [10, plain],
        [3, {}],
      ],
      'said',
    ],
    [
      'as all but one',
      [
        [10, plain],
        [10, {}],
        [10, plain],
        [3, {}],
      ],
      'said',
    ],
    [
      'with ranges up to the total',
      [
        [10, range(0, 9, 13)],
        [3, range(10, 12, 13)],
      ],
      null,
    ],
    [
      'with ranges that count from 1',
      [
        [10, range(1, 10, 13)],
        [3, range(11, 13, 13)],
      ],
      null,
    ],
    [
      'with ranges without a total',
      [
        [10, range(0, 9, null)],
        [3, range(10, 12, null)],
      ],
      null,
    ],
    [
      'with ranges whose total grows',
      [
        [10, range(0, 9, 13)],
        [4, range(10, 13, 14)],
      ],
      null,
    ],
    [
      'with an empty last page',
      [
        [10, range(0, 9, 10)],
        [0, range(null, null, 10)],
      ],
      null,
    ],
    ['with a range that is the whole list', [[10, range(0, 9, 10)]], null],
    [
      'with a total of several pages',
      [
        [10, range(null, null, 13)],
        [3, range(null, null, 13)],
      ],
      null,
    ],
    ['with a total, which may be that of the page', [[10, range(null, null, 10)]], 'said'],
    ['with a range without a total, on its only page', [[10, range(0, 9, null)]], 'said'],
    ['with a range behind pages that were not read', [[10, range(10, 19, null)]], 'said'],
    [
      'with ranges that end before the total',
      [
        [10, range(0, 9, 20)],
        [3, range(10, 12, 20)],
      ],
      'said',
    ],
    [
      'with ranges that have a gap',
      [
        [10, range(0, 9, 20)],
        [5, range(15, 19, 20)],
      ],
      'said',
    ],
  ])('%s', (_, pages, expected) => {
    const doubt = expected === null ? null : { kind: 'said', words };
    expect(doubtOf(readingOf(pages), { of: 'all', trust: 'unproven' })).toEqual(doubt);
  });

  it('says nothing only if its total may count more than the list on purpose', () => {
    const changes = readingOf([[3, range(0, 2, 1000)]]);
    const said = { kind: 'said', words };
    expect(doubtOf(changes, { of: 'changes', trust: 'proven', listed: 1000 })).toBeNull();
    expect(doubtOf(changes, { of: 'changes', trust: 'proven-of-list' })).toBeNull();
    expect(doubtOf(changes, { of: 'changes', trust: 'ignored' })).toBeNull();
    expect(doubtOf(changes, { of: 'all', trust: 'ignored' })).toBeNull();
    // The list may be cut in every reading.
    for (const trust of ['unproven', 'window'] as const)
      for (const of of ['all', 'changes'] as const) expect(doubtOf(changes, { of, trust })).toEqual(said);
    expect(doubtOf(changes, { of: 'changes', trust: 'proven', listed: 2001 })).toEqual(said);
    expect(doubtOf(changes, { of: 'changes', trust: 'proven-of-changes' })).toEqual(said);
    expect(doubtOf(readingOf([[3, plain]]), { of: 'changes', trust: 'proven' })).toEqual(said);
  });

  it('is followed by the next part of a list that is read by time', () => {
    const part = nextPart(readingOf([[10, plain]]));
    expect(doubtOf(withPage(part, NO_EVIDENCE, 3), { of: 'changes', trust: 'unproven' })).toBeNull();
  });
});
