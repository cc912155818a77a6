import { describe, expect, it } from 'vitest';
import { lastDue } from '../../../activities/alerts/schedule-times.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/duration.js';

const UNTIL = Date.parse('2026-11-28T12:00:30Z');
const LIMIT = 1_000;

/** A Schedule that is due at the multiples of a period, as Temporal lists them: the first 1,000. */
function every(period: number) {
  return async (from: number, to: number): Promise<number[]> => {
    const first = Math.ceil(from / period);
    const count = Math.min(LIMIT, Math.max(0, Math.floor(to / period) - first + 1));
    return Array.from({ length: count }, (_, at) => (first + at) * period);
  };
}

describe('the newest due time of a Schedule', () => {
  it.each([
    ['second', SECOND_MS],
    ['five minutes', 5 * MINUTE_MS],
    ['twenty minutes', 20 * MINUTE_MS],
    ['hour', HOUR_MS],
    ['day', DAY_MS],
    ['seven days', 7 * DAY_MS],
  ])('is the newest one if it is due every %s', async (_, period) => {
    const last = Math.floor(UNTIL / period) * period;
    expect(await lastDue(every(period), 0, UNTIL)).toBe(last);
    expect(await lastDue(every(period), last + 1, UNTIL)).toBeNull();
  });

  it('is unknown before the Schedule has its present form', async () => {
    expect(await lastDue(every(SECOND_MS), UNTIL, UNTIL)).toBeNull();
    expect(await lastDue(every(SECOND_MS), UNTIL + DAY_MS, UNTIL)).toBeNull();
  });
});
