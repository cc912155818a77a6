import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import type { RetentionSettings } from '../../../src/core/settings.js';
import {
  READER_GRACE_MS,
  type SnapshotRun,
  snapshotsToRemove,
} from '../../../src/lake/published/retention.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-21T02:00:00Z');
const LAST: RetentionSettings = { snapshotsMs: 30 * DAY, keepPerDay: 'last' };

/** A run that was published so many hours ago. */
function run(hoursAgo: number, date?: string): SnapshotRun {
  const publishedAt = NOW - hoursAgo * HOUR;
  const time = new Date(publishedAt).toISOString();
  const runId = `${time.replace(/[-:]|\.\d+/g, '')}-00000000` as RunId;
  return { date: date ?? time.slice(0, 10), runId, publishedAt };
}

function removed(published: SnapshotRun[], settings = LAST, strays: SnapshotRun[] = []): number[] {
  const current = published.reduce((a, b) => (a.publishedAt > b.publishedAt ? a : b)).runId;
  const gone = snapshotsToRemove({ published, strays, current, settings, now: NOW });
  return gone.map(({ publishedAt }) => (NOW - publishedAt) / HOUR);
}

describe('Retention of snapshots', () => {
  it('keeps the last run of each day, and the others of a day for 24 hours after they were superseded', () => {
    const runs = [run(0), run(24), run(25), run(26), run(49), run(50), run(60)];
    // Published at 02:00 today; at 02:00, 01:00 and 00:00 yesterday; and 01:00, 00:00 and 14:00 before.
    expect(removed(runs)).toEqual([50, 26]);
  });

  it('keeps every run of a day if all are configured to stay', () => {
    expect(removed([run(0), run(50), run(49)], { ...LAST, keepPerDay: 'all' })).toEqual([]);
  });

  it('removes snapshots that are older than configured', () => {
    expect(removed([run(0), run(24 * 30), run(24 * 30 + 1), run(24 * 300)])).toEqual([7200, 721]);
  });

  it('keeps the published snapshot however old it is, and the one before for a day', () => {
    expect(removed([run(24 * 90)])).toEqual([]);
    expect(removed([run(24 * 90), run(1)])).toEqual([]);
    expect(removed([run(24 * 90), run(25)])).toEqual([2160]);
  });

  it('keeps snapshots published after the run in the pointer', () => {
    const runs = [run(100), run(99), run(98)];
    const current = runs[0]!.runId;
    expect(snapshotsToRemove({ published: runs, strays: [], current, settings: LAST, now: NOW })).toEqual([]);
  });

  it('removes nothing if the published snapshot is not among the folders', () => {
    const current = run(0).runId;
    const published = [run(50), run(49)];
    expect(snapshotsToRemove({ published, strays: [], current, settings: LAST, now: NOW })).toEqual([]);
  });

  it('does not treat a run that lost the swap as the last of its day', () => {
    expect(removed([run(0), run(50)], LAST, [run(49)])).toEqual([]);
    expect(removed([run(0), run(50)], LAST, [run(24 * 31)])).toEqual([744]);
  });

  it('keeps a snapshot that a rollback replaced for 24 hours after the next run was published', () => {
    const month = 24 * 31;
    expect(removed([run(month + 1), run(23)], LAST, [run(month)])).toEqual([]);
    expect(removed([run(month + 1), run(25)], LAST, [run(month)])).toEqual([month + 1, month]);
  });

  const runs = fc
    .uniqueArray(fc.integer({ min: 0, max: 24 * 60 }), { minLength: 1, maxLength: 60 })
    .chain((hours) =>
      fc.record({
        all: fc.constant(hours.map((ago) => run(ago))),
        stray: fc.array(fc.boolean(), { minLength: hours.length, maxLength: hours.length }),
        snapshotsMs: fc.integer({ min: 1, max: 60 }).map((days) => days * DAY),
        keepPerDay: fc.constantFrom('last', 'all'),
      }),
    );

  it('keeps its guarantees for any history', () => {
    fc.assert(
      fc.property(runs, ({ all, stray, snapshotsMs, keepPerDay }) => {
        const published = all.filter((_, at) => at === 0 || !stray[at]);
        const strays = all.filter((_, at) => at > 0 && stray[at]);
        const newest = published.reduce((a, b) => (a.publishedAt > b.publishedAt ? a : b));
        const settings = { snapshotsMs, keepPerDay };
        const gone = snapshotsToRemove({ published, strays, current: newest.runId, settings, now: NOW });
        const left = published.filter((one) => !gone.includes(one));

        expect(gone).not.toContain(newest);
        expect(gone.map((one) => one.publishedAt)).toEqual(
          gone.map((one) => one.publishedAt).sort((a, b) => a - b),
        );
        for (const one of gone) {
          expect(NOW - one.publishedAt).toBeGreaterThan(READER_GRACE_MS);
          // Readers have had 24 hours to switch to the next snapshot.
          const next = published.find(
            (later) => later.publishedAt > one.publishedAt && NOW - later.publishedAt > DAY,
          );
          expect(next).toBeDefined();
          if (keepPerDay === 'all' || strays.includes(one))
            expect(NOW - one.publishedAt).toBeGreaterThan(snapshotsMs);
        }
        // Every day that had a published snapshot young enough still has its last one.
        for (const one of published) {
          const later = published.some((two) => two.date === one.date && two.publishedAt > one.publishedAt);
          if (!later && NOW - one.publishedAt <= snapshotsMs) expect(left).toContain(one);
        }
      }),
    );
  });

  it('removes nothing in a second call', () => {
    fc.assert(
      fc.property(runs, ({ all, snapshotsMs, keepPerDay }) => {
        const newest = all.reduce((a, b) => (a.publishedAt > b.publishedAt ? a : b));
        const rest = { strays: [], current: newest.runId, settings: { snapshotsMs, keepPerDay }, now: NOW };
        const gone = snapshotsToRemove({ published: all, ...rest });
        const left = all.filter((one) => !gone.includes(one));
        const again = snapshotsToRemove({ published: left, ...rest });
        expect(again).toEqual([]);
      }),
    );
  });
});
