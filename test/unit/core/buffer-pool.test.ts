import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BufferPool } from '../../../src/core/buffer-pool.js';

const KiB = 1024;
const aPool = () => new BufferPool({ least: 8 * KiB, most: 64 * KiB, count: 2 });

/** Whether two buffers share their memory. */
const areSame = (a: Buffer, b: Buffer): boolean => a.buffer === b.buffer;

describe('A pool of buffers', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('gives a buffer to one user at a time, even if it was given back twice', () => {
    const pool = aPool();
    const buffer = pool.take(50);
    expect([buffer.length, areSame(pool.take(50), buffer)]).toEqual([50, false]);
    pool.giveBack(buffer);
    pool.giveBack(buffer.subarray(10, 20));
    expect([areSame(pool.take(100), buffer), areSame(pool.take(100), buffer)]).toEqual([true, false]);
  });

  it('gives the buffer that fits best, but none that is too small or more than twice as large', () => {
    const pool = new BufferPool({ least: 8 * KiB, most: 64 * KiB, count: 3 });
    const [large, small, middle] = [64, 16, 32].map((size) => pool.take(size * KiB));
    for (const buffer of [large!, small!, middle!]) pool.giveBack(buffer);
    expect(areSame(pool.take(7 * KiB), small!)).toBe(true);
    expect(areSame(pool.take(20 * KiB), middle!)).toBe(true);
    expect([large!, small!, middle!].some((buffer) => areSame(pool.take(31 * KiB), buffer))).toBe(false);
    expect(areSame(pool.take(33 * KiB), large!)).toBe(true);
  });

  it('gives whole pages of memory, so that it also fits what is a little larger', () => {
    const pool = aPool();
    const buffer = pool.take(9 * KiB);
    pool.giveBack(buffer);
    const next = pool.take(16 * KiB);
    expect([next.length, areSame(next, buffer)]).toEqual([16 * KiB, true]);
  });

  it('keeps the last buffers that were given back, none above its limit and none of others', () => {
    const pool = aPool();
    const [first, second, third, large] = [8, 8, 8, 65].map((size) => pool.take(size * KiB));
    for (const buffer of [first!, second!, third!, large!, Buffer.allocUnsafeSlow(8 * KiB)])
      pool.giveBack(buffer);
    const taken = [1, 2, 3].map(() => pool.take(1));
    expect([first!, second!, third!].map((one) => taken.some((other) => areSame(one, other)))).toEqual([
      false,
      true,
      true,
    ]);
    expect(areSame(pool.take(65 * KiB), large!)).toBe(false);
  });

  it('keeps its buffers for some seconds after the last use', () => {
    const pool = aPool();
    const buffer = pool.take(1);
    pool.giveBack(buffer);
    vi.advanceTimersByTime(4_000);
    pool.giveBack(pool.take(1));
    vi.advanceTimersByTime(4_000);
    const again = pool.take(1);
    pool.giveBack(again);
    vi.advanceTimersByTime(6_000);
    expect([areSame(again, buffer), areSame(pool.take(1), buffer)]).toEqual([true, false]);
  });
});
