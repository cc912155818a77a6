import { describe, expect, it } from 'vitest';
import { toUtcSeconds } from '../../../src/core/utc-time.js';
import { syncedAtOfRun } from '../../../src/lake/rows/synced-at.js';

const STARTED = Date.parse('2026-11-20T02:00:00Z');
const at = (seconds: number) => toUtcSeconds(STARTED + 1000 * seconds);

describe('The `_synced_at` of the rows that a run fetches', () => {
  const first = { since: null };
  const returned = { since: at(10), isReturn: true } as const;
  it.each([
    ['the start of the run', [first], false, 0],
    ['the start of the run after a change of settings', [first, { since: at(-60) }], false, 0],
    [
      'the time of the settings, if the clock was behind when the run started',
      [first, { since: at(5) }],
      false,
      5,
    ],
    [
      'of a rollback, the time of the rows that it brings back',
      [first, returned, { since: at(11) }],
      true,
      10,
    ],
    [
      'of the run after a rollback, the time of the settings that it reads with',
      [first, returned, { since: at(11) }],
      false,
      11,
    ],
  ])('is %s', (_, shapes, isRollback, expected) => {
    const run = { startedAt: STARTED, shapes, rollback: isRollback ? {} : null };
    expect(syncedAtOfRun(run)).toBe(at(expected));
  });
});
