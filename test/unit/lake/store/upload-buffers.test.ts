import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { giveBack, PART_BYTES, takeBuffer } from '../../../../src/lake/store/s3/upload-buffers.js';

// The buffers are compared by identity outside `expect`, which would print all of their bytes.
describe('Buffers for uploads', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
  });

  it('are used again, one user at a time', () => {
    const [first, second] = [takeBuffer(), takeBuffer()];
    expect([first.length, second.length, first === second]).toEqual([PART_BYTES, PART_BYTES, false]);
    giveBack(first);
    expect([takeBuffer() === first, takeBuffer() === first]).toEqual([true, false]);
  });

  it('are kept for one writer, for some seconds', () => {
    const buffers = [takeBuffer(), takeBuffer(), takeBuffer()];
    for (const buffer of buffers) giveBack(buffer);
    const taken = [takeBuffer(), takeBuffer(), takeBuffer()];
    expect(taken.filter((buffer) => buffers.includes(buffer))).toHaveLength(2);
    for (const buffer of buffers) giveBack(buffer);
    vi.advanceTimersByTime(4_000);
    giveBack(buffers[0]!);
    vi.advanceTimersByTime(4_000);
    expect(buffers.includes(takeBuffer())).toBe(true);
    vi.advanceTimersByTime(2_000);
    expect(buffers.includes(takeBuffer())).toBe(false);
  });
});
