import { describe, expect, it } from 'vitest';
import { resourceNotes, stateText } from '../../../src/cli/inspect/status-notes.js';
import type { RunId } from '../../../src/core/brands.js';
import { behindSince, isFresh, stateOf } from '../../../src/temporal/status/state.js';
import type { ResourceStatus } from '../../../src/temporal/status/status.js';

const quiet = {
  unreadable: false,
  foreign: false,
  active: null,
  hasWorker: true,
  lastOutcome: 'published',
  rolledBack: false,
  behind: false,
} as const;
const hour = 3_600_000;

describe('the state of a resource', () => {
  it('is the one that matters most', () => {
    const running = { retrying: null };
    const cases = [
      [{}, 'published'],
      [{ lastOutcome: null }, 'never-run'],
      [{ behind: true }, 'behind-schedule'],
      [{ rolledBack: true, behind: true }, 'rolled-back'],
      [{ hasWorker: false, rolledBack: true }, 'no-worker'],
      [{ hasWorker: false, lastOutcome: 'failed' }, 'failed'],
      [{ lastOutcome: 'refused' }, 'refused'],
      [{ active: running, lastOutcome: 'failed' }, 'running'],
      [{ active: { retrying: {} } }, 'retrying'],
      [{ active: { retrying: {} }, hasWorker: false }, 'no-worker'],
      [{ active: running, foreign: true }, 'other-owner'],
      [{ foreign: true, unreadable: true }, 'unreadable'],
      [{ hasWorker: null }, 'published'],
    ] as const;
    for (const [facts, state] of cases)
      expect(stateOf({ ...quiet, ...facts }), JSON.stringify(facts)).toBe(state);
  });

  it('is behind schedule if no run has been published since the last scheduled one', () => {
    const due = Date.parse('2026-11-22T02:00:00Z');
    expect(behindSince(null, due, due + hour)).toBeNull();
    expect(behindSince(due, due - 24 * hour, due + 60_000)).toBeNull();
    expect(behindSince(due, due - 24 * hour, due + hour)).toBe(due);
    expect(behindSince(due, due, due + hour)).toBeNull();
    expect(behindSince(due, null, due + hour)).toBe(due);
  });

  it('is fresh only if the last run was published and the checkpoint is young', () => {
    const now = Date.parse('2026-11-22T05:00:00Z');
    const fresh = {
      state: 'published',
      lastRun: { outcome: 'published' },
      checkpoint: { updatedSince: '2026-11-22T02:00:00Z' },
    } as const;
    expect(isFresh(fresh, 3 * hour, now)).toBe(true);
    expect(isFresh(fresh, 3 * hour - 1, now)).toBe(false);
    expect(isFresh({ ...fresh, state: 'other-owner' }, 30 * hour, now)).toBe(false);
    expect(isFresh({ ...fresh, lastRun: { outcome: 'failed' } }, 30 * hour, now)).toBe(false);
    expect(isFresh({ ...fresh, lastRun: null }, 30 * hour, now)).toBe(false);
  });
});

describe('the notes below the table', () => {
  const now = Date.parse('2026-11-22T05:00:00Z');
  const run = (hours: number) => `20261122T0${hours}0000Z-1a2b3c4d` as RunId;
  const status: ResourceStatus = {
    ...{ name: 'tasks', state: 'published', checkpoint: null, rows: 3, snapshotAt: null, warnings: [] },
    dataAsOf: null,
    ...{ lastRun: null, error: null, active: null, rolledBack: null, behindSince: null, pageSize: null },
    deletes: null,
    checks: null,
    from: 'mirror',
  };
  const active = {
    runId: run(2),
    startedAt: now - 3 * hour,
    phase: 'extract',
    mode: 'full',
    pages: 1,
    rows: 1000,
    resumed: null,
    waitingUntil: null,
    storeLimit: null,
  } as const;
  const retrying = {
    since: now - 2 * hour,
    error: 'connect ECONNREFUSED',
    attempt: 14,
    nextAttemptAt: now + 40_000,
  };

  it('say since when, why and how often a run retries, and when it tries again', () => {
    const shown = { ...status, state: 'retrying', active: { ...active, retrying } } as const;
    expect(stateText(shown, now)).toBe('retrying for 2 h');
    expect(resourceNotes(shown, now)).toEqual([
      '  tasks: retrying since 2026-11-22T03:00:00Z; attempt 14 failed, next attempt in 40 s',
      '    connect ECONNREFUSED',
    ]);
    const late = { ...shown, active: { ...active, retrying: { ...retrying, nextAttemptAt: now - 1 } } };
    expect(resourceNotes(late, now)[0]).toContain('the next one waits for a worker');
  });

  it('name the runs of a rollback and how to undo it', () => {
    const shown = { ...status, state: 'rolled-back', rolledBack: { from: run(3), to: run(1) } } as const;
    expect(resourceNotes(shown, now)).toEqual([
      `  tasks: rolled back from run ${run(3)} to run ${run(1)}, until a complete full read is published`,
      `    To undo: worktrack rollback --resource tasks --to ${run(3)}`,
    ]);
  });

  it('name the scheduled run that is missing', () => {
    const shown = { ...status, state: 'behind-schedule', behindSince: '2026-11-22T02:00:00.000Z' } as const;
    expect(stateText(shown, now)).toBe('behind schedule');
    expect(resourceNotes(shown, now)[0]).toContain('the run of 2026-11-22T02:00:00Z is not published');
  });
});
