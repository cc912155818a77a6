import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { MirrorState, RunReport } from '../../../src/core/contract/index.js';
import { DAY_MS } from '../../../src/core/duration.js';
import { newMirror } from '../../../src/core/mirror.js';
import { attemptRunIds } from '../../../src/core/run-id.js';
import { dueAfterShort, expiredOnly, isCleanUpDue } from '../../../workflows/mirror/clean-up-due.js';

const RUN = '20261121T020000Z-fffffffe' as RunId;
const NOW = Date.parse('2026-11-22T02:00:00Z');
const retention = { snapshotsMs: 30 * DAY_MS, keepPerDay: 'last' } as const;
const short = {
  retention,
  snapshot: 'tasks/snapshots/dt=2026-11-22/run=x/_datapackage.json',
  reported: true,
};
const report: RunReport = {
  ...{ resource: 'tasks', outcome: 'published', runId: RUN, rows: 1, counts: null, snapshot: null },
  ...{ warnings: [], error: null },
};

function state(changes: Partial<MirrorState> = {}): MirrorState {
  const snapshot = 'tasks/snapshots/dt=2026-11-21/run=y/_datapackage.json' as ObjectKey;
  return {
    ...newMirror('acme', 'tasks'),
    published: { runId: RUN, snapshot, rows: 1, publishedAt: NOW - DAY_MS },
    cleanedUpTo: RUN,
    cleanUpDue: { at: NOW + DAY_MS, retention: JSON.stringify(retention), otherwiseAt: NOW + DAY_MS },
    lastRun: report,
    ...changes,
  };
}

describe('a clean-up after a short run', () => {
  it('is not due if nothing is there to remove', () => {
    expect(isCleanUpDue(state(), short, NOW)).toBe(false);
  });

  it('is due when a snapshot reaches its retention', () => {
    expect(isCleanUpDue(state(), short, NOW + DAY_MS)).toBe(true);
  });

  it.each<[string, Partial<MirrorState>]>([
    ['it is not known when it is due', { cleanUpDue: null }],
    ['there was no complete clean-up, or a purge', { cleanedUpTo: null }],
    ['the last run failed', { lastRun: { ...report, outcome: 'failed' } }],
    ['an attempt was replaced', { unpublished: [RUN] }],
    ['delayed requests may arrive', { lateUntil: NOW + 1 }],
    ['delayed requests have arrived since', { lateUntil: NOW - 1 }],
    [
      'the retention has changed',
      { cleanUpDue: { at: NOW + DAY_MS, retention: '{}', otherwiseAt: NOW + DAY_MS } },
    ],
  ])('is due if %s', (_, changes) => {
    expect(isCleanUpDue(state(changes), short, NOW)).toBe(true);
  });

  it('is due if the report is not written, and after every other run', () => {
    expect(isCleanUpDue(state(), { ...short, reported: false }, NOW)).toBe(true);
    expect(isCleanUpDue(state(), null, NOW)).toBe(true);
  });

  it('becomes due a day after a second run of the same day', () => {
    expect(dueAfterShort(state(), short, NOW)).toEqual(state().cleanUpDue);
    const far = state({
      cleanUpDue: { at: NOW + 20 * DAY_MS, retention: '', otherwiseAt: NOW + 20 * DAY_MS },
    });
    expect(dueAfterShort(far, short, NOW)?.at).toBe(NOW + 20 * DAY_MS);
    const sameDay = { ...short, snapshot: far.published!.snapshot };
    expect(dueAfterShort(far, sameDay, NOW)?.at).toBe(NOW + DAY_MS);
  });
});

describe('snapshots that have expired', () => {
  const due = { at: NOW, retention: JSON.stringify(retention), otherwiseAt: NOW + 9 * DAY_MS };

  it('are removed by a short run if nothing else is due', () => {
    expect(expiredOnly(state({ cleanUpDue: due }), NOW)).toEqual(due);
    expect(expiredOnly(state({ cleanUpDue: due }), NOW - 1)).toBeNull();
    expect(expiredOnly(state({ cleanUpDue: due }), due.otherwiseAt)).toBeNull();
    expect(expiredOnly(state({ cleanUpDue: null }), NOW)).toBeNull();
    expect(expiredOnly(state(), NOW + DAY_MS)).toBeNull();
  });

  it('need no clean-up after a short run that has removed them', () => {
    const next = { ...due, at: NOW + DAY_MS };
    const before = state({ cleanUpDue: due });
    expect(isCleanUpDue(before, short, NOW)).toBe(true);
    expect(isCleanUpDue(before, { ...short, due: next }, NOW)).toBe(false);
    expect(dueAfterShort(before, { ...short, due: next }, NOW)).toEqual(next);
    // More than one run removes.
    expect(isCleanUpDue(before, { ...short, due: { ...due, at: NOW } }, NOW)).toBe(true);
    expect(isCleanUpDue(state({ cleanUpDue: due, unpublished: [RUN] }), { ...short, due: next }, NOW)).toBe(
      true,
    );
  });

  it('need a clean-up a day after a second run of the same day, which supersedes a snapshot', () => {
    const before = state({ cleanUpDue: due });
    const sameDay = { ...short, snapshot: before.published!.snapshot, due: { ...due, at: NOW + 2 * DAY_MS } };
    const next = dueAfterShort(before, sameDay, NOW);
    expect(next).toMatchObject({ at: NOW + DAY_MS, otherwiseAt: NOW + DAY_MS });
    expect(expiredOnly(state({ cleanUpDue: next }), NOW + DAY_MS)).toBeNull();
    // A run of a day before that may supersede another one.
    const earlier = { ...sameDay, snapshot: sameDay.snapshot.replace('-21', '-20') };
    expect(dueAfterShort(before, earlier, NOW)).toEqual(next);
    // Where all are kept, none supersedes another.
    const all = { ...sameDay, retention: { ...retention, keepPerDay: 'all' } } as const;
    expect(dueAfterShort(before, all, NOW)).toEqual(sameDay.due);
  });

  it('need a clean-up if the clock was far ahead when they were last looked for', () => {
    const far = { ...due, at: NOW + 80 * DAY_MS, otherwiseAt: NOW + 80 * DAY_MS };
    expect(isCleanUpDue(state({ cleanUpDue: far }), short, NOW)).toBe(true);
    const month = { ...far, otherwiseAt: NOW + 31 * DAY_MS };
    expect(isCleanUpDue(state({ cleanUpDue: month }), short, NOW)).toBe(false);
  });
});

describe('the attempts of a short run', () => {
  it('have ids of the same second, and the first one has that of the run', () => {
    expect(attemptRunIds(RUN, 3)).toEqual([RUN, '20261121T020000Z-ffffffff', '20261121T020000Z-00000000']);
  });
});
