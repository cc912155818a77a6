import { describe, expect, it } from 'vitest';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/duration.js';
import type { RunClocks } from '../../../src/lake/documents/run-file.js';
import { ageOf, earliestOf, latestOf } from '../../../src/write-back/request-age.js';

const NOON = Date.parse('2026-11-20T12:00:00Z');
const at = (temporal: number, worker = temporal, store: number | null = null): RunClocks => ({
  ...{ temporal: NOON + temporal, worker: NOON + worker },
  store: store === null ? null : NOON + store,
});

describe('the age of a request', () => {
  it.each<[string, RunClocks, RunClocks, number | null]>([
    ['clocks that agree', at(0), at(HOUR_MS), HOUR_MS],
    [
      'a worker whose clock is ahead, and then one whose clock is right',
      at(0, 11 * HOUR_MS),
      at(12 * HOUR_MS),
      12 * HOUR_MS,
    ],
    [
      'a worker whose clock is behind, and an attempt that waits 13 h for it',
      at(0, 0, 0),
      at(MINUTE_MS, 0, 13 * HOUR_MS),
      13 * HOUR_MS,
    ],
    [
      'an attempt that waits 13 h for a worker, without a clock of the store',
      at(0),
      at(MINUTE_MS, 13 * HOUR_MS),
      13 * HOUR_MS,
    ],
    ['the next clock is 1 s behind', at(0), at(-SECOND_MS), 0],
    ['the next clocks are 5 min behind', at(0), at(-5 * MINUTE_MS), 0],
    ['the next clocks are more than 5 min behind', at(0), at(-5 * MINUTE_MS - 1), null],
    ['all clocks were set back', at(0, 0, 0), at(-HOUR_MS, -HOUR_MS, -HOUR_MS), null],
    ['one clock is a day behind then', at(0, -24 * HOUR_MS), at(0), 24 * HOUR_MS],
    ["the store's clock is a day ahead now", at(0), at(0, 0, 24 * HOUR_MS), 24 * HOUR_MS],
  ])('with %s', (_, then, now, age) => {
    expect(ageOf(earliestOf(then), latestOf(now))).toBe(age);
  });
});
