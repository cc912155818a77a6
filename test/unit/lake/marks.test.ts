import { describe, expect, it } from 'vitest';
import type { Cursor } from '../../../src/core/brands.js';
import type { Mark } from '../../../src/lake/documents/stage-file.js';
import { marksToCheck, withMark } from '../../../src/run/read/endless-list.js';

function marksOf(pages: number): readonly Mark[] {
  let marks: readonly Mark[] = [];
  for (let page = 1; page < pages; page++)
    marks = withMark(marks, { page, cursor: `c${page}` as Cursor, first: `f${page}` });
  return marks;
}

const checked = (pages: number) => marksToCheck(marksOf(pages), pages).map(({ page }) => page);

describe('the pages that are requested again during a read', () => {
  it('do not exist in a short read', () => {
    expect(checked(1)).toEqual([]);
    expect(checked(15)).toEqual([]);
  });

  it('are evenly spaced in a long read, one for sixteen pages and at most eight', () => {
    expect(checked(30)).toEqual([14]);
    expect(checked(48)).toEqual([12, 24, 36]);
    for (const pages of [128, 1000, 10_000]) {
      const found = checked(pages);
      expect(found.length).toBe(8);
      found.forEach((page, at) => {
        expect(Math.abs(page / pages - (at + 1) / 9)).toBeLessThan(0.07);
      });
    }
  });

  it('are remembered in bounded memory', () => {
    expect(marksOf(100_000).length).toBeLessThanOrEqual(16);
  });
});
