import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { MirrorState, RunRecord, SweepDue } from '../../../src/core/contract/index.js';
import { HOUR_MS } from '../../../src/core/duration.js';
import { newMirror } from '../../../src/core/mirror-requests.js';
import { ALL_REMOVED } from '../../../src/core/removal.js';
import { afterPurge, afterSweep, sweepOfRun, untilSweep } from '../../../src/mirror/sweep-rules.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const PURGE = '20261121T010000Z-00000001' as RunId;
const LATER = '20261121T013000Z-00000002' as RunId;
/** The failed run. */
const ENDED = [LATER];
const DONE = { isDone: true, refused: ALL_REMOVED } as const;
const PLAIN = { isPlain: true, notContinued: null };
const REFUSED = { refused: 2, said: '403 AccessDenied' };

function state(sweepAt: SweepDue | null, outcome: RunRecord['outcome'] | null = 'published'): MirrorState {
  const lastRun = outcome === null ? null : ({ outcome, runId: LATER } as RunRecord);
  return { ...newMirror('acme', 'tasks'), sweepAt, lastRun };
}

const due = (at: number, before: RunId | null = null): SweepDue => ({ at, before, refused: null });

describe('the activity of a whole run', () => {
  it('sweeps if that is due, and else only after a failed run', () => {
    expect(sweepOfRun(state(null), PLAIN, NOW)).toEqual({ before: null, ended: [], scope: 'all' });
    expect(sweepOfRun(state(due(NOW)), PLAIN, NOW)).toEqual({ before: null, ended: [], scope: 'published' });
    expect(sweepOfRun(state(due(NOW + 1)), PLAIN, NOW)).toBeNull();
    expect(sweepOfRun(state(due(NOW + 1), null), PLAIN, NOW)).toBeNull();
    for (const outcome of ['failed', 'refused', 'cancelled'] as const)
      expect(sweepOfRun(state(due(NOW + 1), outcome), PLAIN, NOW)).toEqual({
        before: null,
        ended: ENDED,
        scope: 'all',
      });
  });

  it('sweeps what a run has left that it takes the place of', () => {
    const notContinued = { runId: LATER, object: `_staging/tasks/${LATER}/run.json` as ObjectKey, layout: 9 };
    const ended = [LATER];
    expect(sweepOfRun(state(due(NOW + 1)), { isPlain: true, notContinued }, NOW)).toEqual({
      ...{ before: null, ended, scope: 'all' },
    });
  });

  it('always sweeps if it is no plain increment', () => {
    expect(sweepOfRun(state(due(NOW + 1)), { ...PLAIN, isPlain: false }, NOW)).toEqual({
      before: null,
      ended: [],
      scope: 'all',
    });
  });

  it('sweeps when a purge requires it, but not too early', () => {
    expect(sweepOfRun(state(due(NOW, PURGE)), PLAIN, NOW)).toEqual({
      before: PURGE,
      ended: [],
      scope: 'all',
    });
    expect(sweepOfRun(state(due(NOW + 1, PURGE)), PLAIN, NOW)).toBeNull();
    expect(sweepOfRun(state(due(NOW + 1, PURGE), 'failed'), PLAIN, NOW)).toEqual({
      before: null,
      ended: ENDED,
      scope: 'all',
    });
  });
});

describe('the next sweep', () => {
  it('is due before the same time of the next day', () => {
    const { sweepAt } = afterSweep(state(null), { before: null, ...DONE }, NOW);
    expect(sweepAt!.at).toBeLessThan(NOW + 23 * HOUR_MS);
    expect(sweepAt!.at).toBeGreaterThan(NOW + 12 * HOUR_MS);
    expect(untilSweep(state(sweepAt), NOW)).toBeNull();
  });

  it('is due immediately if something is left, or was refused', () => {
    const left = { before: null, ...DONE, isDone: false };
    expect(afterSweep(state(null), left, NOW).sweepAt).toEqual(due(NOW));
    const refused = { before: null, isDone: true, refused: REFUSED };
    expect(afterSweep(state(null), refused, NOW).sweepAt).toEqual({ ...due(NOW), refused: REFUSED });
  });

  it('is made by a timer an hour after a purge, until it has succeeded', () => {
    const purged = state(afterPurge(PURGE, NOW).sweepAt);
    expect(untilSweep(purged, NOW)).toBe(HOUR_MS);
    expect(untilSweep(purged, NOW + 2 * HOUR_MS)).toBe(1);
    // The sweep of a run in between does not count.
    expect(afterSweep(purged, { before: null, ...DONE }, NOW).sweepAt).toEqual(purged.sweepAt);
    const again = { before: PURGE, isDone: true, refused: REFUSED };
    expect(untilSweep(state(afterSweep(purged, again, NOW).sweepAt), NOW)).toBe(HOUR_MS);
    const done = afterSweep(purged, { before: PURGE, ...DONE }, NOW);
    expect(untilSweep(state(done.sweepAt), NOW)).toBeNull();
    // Another purge has begun meanwhile.
    const second = state(afterPurge(LATER, NOW + 1).sweepAt);
    expect(afterSweep(second, { before: PURGE, ...DONE }, NOW + 2).sweepAt).toEqual(second.sweepAt);
  });
});
