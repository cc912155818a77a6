import { describe, expect, it } from 'vitest';
import { MINUTE_MS } from '../../../src/core/duration.js';
import { areFatal, deathsBefore, halvings, type WorkerDeaths } from '../../../src/core/worker-deaths.js';

/** The attempts of a reading: where each begins, whether its worker is lost, and the time that it takes, ms. */
type Attempt = readonly [at: string | null, end: 'lost' | 'failed', ms: number];

function play(attempts: readonly Attempt[]): { readonly deaths: WorkerDeaths; readonly now: number } {
  let before: WorkerDeaths | undefined;
  let now = 1_000;
  for (const [at, end, ms] of attempts) {
    before = { ...deathsBefore(before, at, now), isRunning: end === 'lost' };
    now += ms;
  }
  const last = attempts.at(-1)![0];
  return { deaths: deathsBefore(before, last, now), now };
}

const lost = (count: number, at: string | null = null, ms = 30_000): Attempt[] =>
  Array.from({ length: count }, () => [at, 'lost', ms] as const);

describe('Workers that are lost at one position', () => {
  it.each<readonly [string, readonly Attempt[], { count: number; halvings: number; isFatal: boolean }]>([
    ['none', [[null, 'failed', 1]], { count: 0, halvings: 0, isFatal: false }],
    ['two', lost(2), { count: 2, halvings: 0, isFatal: false }],
    ['three', lost(3), { count: 3, halvings: 1, isFatal: false }],
    [
      'three, and failures between them',
      [...lost(2), [null, 'failed', 1], ...lost(1)],
      { count: 3, halvings: 1, isFatal: false },
    ],
    [
      'five, and failures after them',
      [...lost(5), [null, 'failed', 1], [null, 'failed', 1]],
      { count: 5, halvings: 1, isFatal: false },
    ],
    ['six', lost(6), { count: 6, halvings: 2, isFatal: false }],
    [
      'two at one position, and two at a later one',
      [...lost(2), ...lost(1, 'later')],
      { count: 2, halvings: 0, isFatal: false },
    ],
    ['many, in a short time', lost(30), { count: 30, halvings: 10, isFatal: false }],
    ['nine, in a long time', lost(9, null, 10 * MINUTE_MS), { count: 9, halvings: 3, isFatal: false }],
    ['eleven, in a long time', lost(11, null, 3 * MINUTE_MS), { count: 11, halvings: 3, isFatal: true }],
  ])('%s', (_, attempts, expected) => {
    const { deaths, now } = play(attempts);
    expect({ count: deaths.count, halvings: halvings(deaths), isFatal: areFatal(deaths, now) }).toEqual(
      expected,
    );
  });
});
