import { describe, expect, it } from 'vitest';
import {
  deletesAllowed,
  doubtOf,
  hasExactTotal,
  isIncomplete,
  type ListDoubt,
  NO_EVIDENCE,
  NOTHING_READ,
  type PageEvidence,
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
    expect(doubtOf(reading, { of: 'changes', trust: 'proven' })).toEqual(changes);
    const ofChanges = doubtOf(reading, { of: 'changes', trust: 'unproven' });
    expect(ofChanges).toEqual(changes?.kind === 'total' ? null : changes);
    const ignored = doubtOf(reading, { of: 'all', trust: 'ignored' });
    expect(ignored).toEqual(unproven?.kind === 'total' ? null : unproven);
  });

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
