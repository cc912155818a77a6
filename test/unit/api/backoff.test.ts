import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BACKOFF_BASE_MS, backoffDelayMs } from '../../../src/api/index.js';

const almostOne = (): number => 1 - Number.EPSILON;

test('the upper limit doubles with each attempt until the cap', () => {
  const ceilings = [1, 2, 3, 4, 50, 5000].map((attempt) => backoffDelayMs(attempt, 3_000, almostOne) + 1);
  expect(ceilings).toEqual([BACKOFF_BASE_MS, 2 * BACKOFF_BASE_MS, 4 * BACKOFF_BASE_MS, 3_000, 3_000, 3_000]);
});

test('full jitter: every delay from 0 to the upper limit is possible', () => {
  expect(backoffDelayMs(3, 20_000, () => 0)).toBe(0);
  expect(backoffDelayMs(3, 20_000, () => 0.5)).toBe(2 * BACKOFF_BASE_MS);
});

test('a delay is a whole number between 0 and the cap, and increases with the random number', () => {
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.nat(100_000),
      fraction,
      fraction,
      (attempt, cap, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((r) =>
          backoffDelayMs(attempt, cap, () => r),
        );
        expect(Number.isInteger(low)).toBe(true);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(high ?? -1);
        expect(high).toBeLessThanOrEqual(cap);
      },
    ),
  );
});
