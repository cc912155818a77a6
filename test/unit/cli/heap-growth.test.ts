import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { growHeapWithWork } from '../../../src/cli/worker/heap.js';
import { DONE_MS, HeapGrowth, LITTLE_PERCENT } from '../../../src/cli/worker/heap-growth.js';

const MIB = 2 ** 20;

describe("the growth of a worker's heap between two collections", () => {
  /** The percentages after collections with so many milliseconds in between. */
  function growthAfter(gaps: readonly number[], heapBytes = 48 * MIB): number[] {
    const growth = new HeapGrowth();
    let at = 0;
    return gaps.map((gap) => {
      at += gap;
      return growth.collected(at, heapBytes);
    });
  }

  it('is little while collections are rare', () => {
    const often = Array.from({ length: 20 }, () => 600);
    expect(new Set(growthAfter(often))).toEqual(new Set([LITTLE_PERCENT]));
  });

  it('is 36 MiB while many rows pass through the heap, also once that has made collections rarer', () => {
    expect(growthAfter([0, 300, 300, 300, 300, 1200, 1200, 2900])).toEqual([25, 25, 25, 75, 75, 75, 75, 75]);
  });

  it('is little again when the work is done', () => {
    expect(growthAfter([0, 100, 100, 100, DONE_MS + 1, 100, 100, 100])).toEqual([
      ...[25, 25, 25, 75],
      ...[25, 25, 25, 75],
    ]);
  });

  it('is at least a quarter of the heap, and at most its size', () => {
    const often = [0, 100, 100, 100];
    expect(growthAfter(often, 72 * MIB).at(-1)).toBe(50);
    expect(growthAfter(often, 1000 * MIB).at(-1)).toBe(LITTLE_PERCENT);
    expect(growthAfter(often, MIB).at(-1)).toBe(100);
  });

  it('follows the collections of this process', async () => {
    const set: string[] = [];
    const end = growHeapWithWork((flag) => set.push(flag));
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const little = `--heap-growing-percent=${LITTLE_PERCENT}`;
    try {
      while (set.length === 0) {
        collect();
        await delay(1);
      }
      expect(Number(set[0]!.split('=')[1])).toBeGreaterThan(LITTLE_PERCENT);
      // Later collections may set other values.
      while (set.at(-1) !== little) await delay(20);
      set.length = 0;
      while (set.length === 0) {
        collect();
        await delay(1);
      }
    } finally {
      end();
    }
    expect(set.at(-1)).toBe(little);
    // The wait takes three seconds.
  }, 60_000);
});
