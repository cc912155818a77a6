import { describe, expect, it } from 'vitest';
import { HOUR_MS, SECOND_MS } from '../../../src/core/duration.js';
import { durableWait, isShortWait, isTooLong } from '../../../src/core/long-retry-after.js';

const LONGEST = 20 * SECOND_MS;
const GIVE_UP = HOUR_MS;

describe('a wait that is asked for', () => {
  it.each([
    [0, 'the request waits'],
    [LONGEST, 'the request waits'],
    [LONGEST + 1, 'Temporal waits'],
    [GIVE_UP, 'Temporal waits'],
    [GIVE_UP + 1, 'the run ends'],
  ])('is made in the right place: after %i ms, %s', (waitMs, expected) => {
    const place = isShortWait(waitMs, LONGEST)
      ? 'the request waits'
      : isTooLong(waitMs, GIVE_UP)
        ? 'the run ends'
        : 'Temporal waits';
    expect(place).toBe(expected);
  });

  it('is never too long for a client that has no such limit', () => {
    expect(isTooLong(Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY)).toBe(false);
  });

  it('is the delay of the next attempt if it is durable, even if it has ended', () => {
    expect(durableWait(null)).toEqual({});
    expect(durableWait(0)).toEqual({ nextRetryDelay: 1 });
    expect(durableWait(90_000)).toEqual({ nextRetryDelay: 90_000 });
  });
});
