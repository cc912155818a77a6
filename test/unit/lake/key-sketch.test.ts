import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SortKey } from '../../../src/lake/rows/row.js';
import { hashOfKey, KeySketch, ReadProgress, readBounds } from '../../../src/run/read/endless-list.js';

const hash = (key: string): number => hashOfKey(key as SortKey);
const BOUNDS = { pages: 500, ms: Number.POSITIVE_INFINITY };

describe('A sketch of keys', () => {
  it('never takes a key for new that was added before, even after it was stored', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.nat(), (keys, seed) => {
        let sketch = new KeySketch();
        for (const [at, key] of keys.entries()) {
          sketch.add(hash(key));
          if (at % 7 === seed % 7) sketch = new KeySketch(sketch.encode());
        }
        return keys.every((key) => !sketch.add(hash(key)));
      }),
    );
  });

  it('tells how likely it is that it misses new keys', () => {
    const sketch = new KeySketch();
    for (let at = 0; at < 1_000_000; at++) sketch.add(hash(`record-${at}`));
    const chance = sketch.missChance(1);
    const copy = sketch.encode();
    const more = 20_000;
    let missed = 0;
    let same = new KeySketch(copy);
    for (let at = 0; at < more; at++) {
      if (same.add(hash(`other-${at}`))) same = new KeySketch(copy);
      else missed++;
    }
    expect(missed / more).toBeGreaterThan(chance - 0.01);
    expect(missed / more).toBeLessThan(chance + 0.01);
    expect(copy.length).toBeLessThan(12_000);
  });
});

describe('The progress of a reading', () => {
  it('finds new keys in every list, with pages of any size and any number of rows before', () => {
    for (const [before, size, pages] of [
      [0, 1, 20_000],
      [300_000, 1, 5_000],
      [2_000_000, 20, 2_000],
      [2_000_000, 1, 5_000],
    ] as const) {
      const progress = new ReadProgress(null);
      const key = (at: number): SortKey => `0000-${at.toString(36)}-record` as SortKey;
      for (let at = 0; at < before; at += 10_000)
        progress.add(
          Array.from({ length: 10_000 }, (_, more) => key(at + more)),
          0,
        );
      for (let page = 0; page < pages; page++) {
        progress.add(
          Array.from({ length: size }, (_, at) => key(before + page * size + at)),
          0,
        );
        expect(progress.endless(BOUNDS, 0)).toBeNull();
      }
    }
  });

  it('notices the second pass over a list of any length', () => {
    for (const rows of [1, 1000, 300_000]) {
      const progress = new ReadProgress(null);
      const key = (at: number): SortKey => `record-${at}` as SortKey;
      let pages = 0;
      const size = 100;
      for (let at = 0; progress.endless(BOUNDS, 0) === null; at += size) {
        progress.add(
          Array.from({ length: size }, (_, more) => key((at + more) % rows)),
          0,
        );
        pages++;
      }
      expect(pages).toBeLessThanOrEqual(Math.ceil(rows / size) + 500);
    }
  });
});

describe('The bounds of a reading', () => {
  const now = { pageSize: 1000, giveUpAfterMs: 5 };
  it.each([
    ['a full read', false, { pages: 9000, pageSize: 1000 }, 500],
    ['an increment after a short full read', true, { pages: 10, pageSize: 1000 }, 500],
    ['an increment after a long full read', true, { pages: 9000, pageSize: 1000 }, 18_000],
    ['an increment with smaller pages', true, { pages: 9000, pageSize: 4000 }, 72_000],
    ['an increment with larger pages', true, { pages: 9000, pageSize: 100 }, 18_000],
    ['an increment without a known full read', true, null, 500],
  ] as const)('are those of %s', (_, isPartial, full, pages) => {
    expect(readBounds(isPartial, full, now)).toEqual({ pages, ms: 5 });
  });
});
