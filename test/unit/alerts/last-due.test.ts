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

/** A Schedule that is due often in working hours: `* 8-17 * * 1-5`, in UTC. */
function inWorkingHours(period: number) {
  const isDue = (time: number): boolean => {
    const date = new Date(time);
    return date.getUTCHours() >= 8 && date.getUTCHours() < 18 && date.getUTCDay() % 6 !== 0;
  };
  return async (from: number, to: number): Promise<number[]> => {
    const found: number[] = [];
    for (let time = Math.ceil(from / period) * period; time <= to && found.length < LIMIT; time += period)
      if (isDue(time)) found.push(time);
    return found;
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

  it.each([
    ['on a Friday evening', '2026-11-27T21:00:00Z', '2026-11-27T17:59:00Z'],
    ['on a Saturday', '2026-11-28T12:00:30Z', '2026-11-27T17:59:00Z'],
    ['on a Sunday evening', '2026-11-29T23:00:00Z', '2026-11-27T17:59:00Z'],
    ['on a Monday before work', '2026-11-30T07:59:59Z', '2026-11-27T17:59:00Z'],
    ['on a Monday at work', '2026-11-30T12:00:30Z', '2026-11-30T12:00:00Z'],
  ])('is the newest one of many in working hours, %s', async (_, until, last) => {
    const now = Date.parse(until);
    let asked = 0;
    const found = await lastDue(
      (from, to) => {
        asked++;
        return inWorkingHours(MINUTE_MS)(from, to);
      },
      0,
      now,
    );
    expect(new Date(found!).toISOString()).toBe(new Date(last).toISOString());
    expect(asked).toBeLessThan(40);
  });

  it('is unknown before the Schedule has its present form', async () => {
    expect(await lastDue(every(SECOND_MS), UNTIL, UNTIL)).toBeNull();
    expect(await lastDue(every(SECOND_MS), UNTIL + DAY_MS, UNTIL)).toBeNull();
  });
});
