import { describe, expect, it } from 'vitest';
import { KeySamples } from '../../../../src/lake/chunk/key-samples.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';
import { seededRandom } from '../../../support/random.js';

const ROWS = 10_000;
const CHUNK = 500;

/** The shares that chunks of a list of these numbers get, without that of the first. */
function sharesOf(list: readonly number[]): number[] {
  const samples = new KeySamples();
  const shares: (number | null)[] = [];
  for (let from = 0; from < list.length; from += CHUNK) {
    const numbers = list.slice(from, from + CHUNK);
    shares.push(samples.add(numbers.map((n) => String(n).padStart(6, '0') as SortKey)));
  }
  expect(shares[0]).toBeNull();
  return shares.slice(1) as number[];
}

const ascending = Array.from({ length: ROWS }, (_, at) => at);
const random = seededRandom(20261125);
const shuffled = ascending
  .map((n) => ({ n, at: random.below(1e9) }))
  .sort((a, b) => a.at - b.at)
  .map(({ n }) => n);

describe('The share of rows that a merge interleaves', () => {
  it('is 0 for a list in ascending or descending order', () => {
    expect(Math.max(...sharesOf(ascending))).toBe(0);
    expect(Math.max(...sharesOf([...ascending].reverse()))).toBe(0);
  });

  it('is large for every chunk of a list in random order', () => {
    expect(Math.min(...sharesOf(shuffled))).toBeGreaterThan(0.25);
  });

  it('is small for a list in the order of the last change, if few records have changed late', () => {
    // One of fifty records has changed at some time since it was created.
    const changedAt = (n: number) => (n % 50 === 7 ? n + random.below(ROWS - n) : n);
    const list = ascending
      .map((n) => ({ n, at: changedAt(n) }))
      .sort((a, b) => a.at - b.at)
      .map(({ n }) => n);
    for (const order of [list, [...list].reverse()]) {
      expect(Math.max(...sharesOf(order))).toBeLessThan(0.25);
    }
  });

  it('is 1 for rows that are read again, and 0 for none', () => {
    const samples = new KeySamples();
    const keys = ['a', 'b', 'c'] as SortKey[];
    expect([samples.add(keys), samples.add(keys), samples.add([]), samples.add(['b'] as SortKey[])]).toEqual([
      null,
      1,
      0,
      1,
    ]);
  });
});
