import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { collectGarbage, growHeapWithWork, HEAP_FLAGS, thisHeap } from '../../../src/cli/worker/heap.js';
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
});

describe('the growth of a heap', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('follows the collections, until told to end', () => {
    vi.useFakeTimers();
    const heap = heapOf(48 * MIB);
    const end = growHeapWithWork(heap);

    heap.collectOften();
    expect(heap.growths).toEqual([75]);

    vi.advanceTimersByTime(DONE_MS - 1);
    heap.collect();
    vi.advanceTimersByTime(DONE_MS - 1);
    expect(heap.growths).toEqual([75]);
    vi.advanceTimersByTime(1);
    expect(heap.growths).toEqual([75, LITTLE_PERCENT]);

    heap.collectOften();
    expect(heap.growths).toEqual([75, LITTLE_PERCENT, 75]);
    end();
    expect(heap.growths).toEqual([75, LITTLE_PERCENT, 75, LITTLE_PERCENT]);
    expect(heap.isFollowed()).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('learns of the collections of this process', async () => {
    const begun = performance.now();
    let end = (): void => {};
    try {
      const [at, bytes] = await new Promise<[number, number]>((resolve) => {
        end = thisHeap.follow((...collection) => resolve(collection));
        void collectGarbage();
      });
      expect(at).toBeGreaterThanOrEqual(begun);
      expect(bytes).toBeGreaterThan(MIB);
    } finally {
      end();
    }
  });

  it('is a setting that this version of Node has', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--v8-options']);
    for (const flag of Object.values(HEAP_FLAGS)) expect(stdout).toContain(`  ${flag} (`);
  });
});

/** A heap with this many bytes in use, which keeps the growths that it was given. */
function heapOf(bytes: number) {
  const growths: number[] = [];
  let collected: ((at: number, bytes: number) => void) | undefined;
  const collect = (): void => collected?.(performance.now(), bytes);
  return {
    growths,
    follow(callback: (at: number, bytes: number) => void) {
      collected = callback;
      return () => {
        collected = undefined;
      };
    },
    setGrowth: (percent: number) => void growths.push(percent),
    isFollowed: () => collected !== undefined,
    collect,
    collectOften(): void {
      for (let i = 0; i < 4; i++) {
        vi.advanceTimersByTime(100);
        collect();
      }
    },
  };
}
