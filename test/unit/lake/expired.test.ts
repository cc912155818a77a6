import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/duration.js';
import { expiredSnapshots, showGrace } from '../../../src/lake/published/expired.js';
import { expiredDates, type SnapshotRun, snapshotsToRemove } from '../../../src/lake/published/retention.js';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const MONTH_MS = 30 * DAY_MS;

/** A run that was published so many hours ago, as soon as it began. */
function run(hoursAgo: number): SnapshotRun {
  const publishedAt = NOW - hoursAgo * HOUR_MS;
  const time = new Date(publishedAt).toISOString();
  return {
    date: time.slice(0, 10),
    runId: `${time.replace(/[-:]|\.\d+/g, '')}-00000000` as RunId,
    publishedAt,
  };
}

/** What the runs of a lake are to a short run: the newest first. */
function input(runs: readonly SnapshotRun[], snapshotsMs = MONTH_MS, known = runs.length) {
  const dates = [...new Set(runs.map(({ date }) => `dt=${date}`))];
  const old = expiredDates(dates, { snapshotsMs, now: NOW });
  const folders = new Map(
    runs.filter(({ date }) => old.includes(`dt=${date}`)).map((one) => [one.runId, one.date]),
  );
  const unlisted = dates.filter((date) => !old.includes(date));
  return { folders, recent: runs.slice(0, known), unlisted, snapshotsMs, now: NOW, most: 100 };
}

describe('snapshots that a short run removes', () => {
  it('are those older than the retention', () => {
    const runs = [run(0), run(24), run(30 * 24 - 1), run(30 * 24 + 1), run(31 * 24)];
    const { gone, at } = expiredSnapshots(input(runs, MONTH_MS, 3));
    expect(gone.map(({ runId }) => runId)).toEqual([runs[4]!.runId, runs[3]!.runId]);
    expect(at).toBe(runs[2]!.publishedAt + MONTH_MS + 1);
  });

  it('are left to a clean-up if the recent runs do not reach back far enough', () => {
    expect(showGrace([run(0), run(1), run(24)], NOW)).toBe(false);
    expect(showGrace([run(0), run(1), run(25)], NOW)).toBe(true);
  });

  it('are not more than one run may remove, the oldest first', () => {
    const runs = [run(0), run(25), run(31 * 24), run(32 * 24), run(33 * 24)];
    const { gone, at } = expiredSnapshots({ ...input(runs), most: 2 });
    expect(gone.map(({ runId }) => runId)).toEqual([runs[4]!.runId, runs[3]!.runId]);
    expect(at).toBeLessThan(NOW);
  });

  it('do not include the last one before today, which readers may still use', () => {
    const runs = [run(0), run(40 * 24)];
    const { gone, at } = expiredSnapshots(input(runs));
    expect(gone).toEqual([]);
    expect(at).toBe(NOW + DAY_MS + 1);
  });

  it('are those of a clean-up that goes by age, for any history and however many runs are known', () => {
    const histories = fc.record({
      hours: fc.uniqueArray(fc.integer({ min: 1, max: 24 * 60 }), { minLength: 1, maxLength: 60 }),
      known: fc.integer({ min: 2, max: 30 }),
      days: fc.integer({ min: 1, max: 40 }),
    });
    fc.assert(
      fc.property(histories, ({ hours, known, days }) => {
        const published = [0, ...hours].sort((a, b) => a - b).map(run);
        const snapshotsMs = days * DAY_MS;
        const settings = { snapshotsMs, keepPerDay: 'all' } as const;
        const current = published[0]!.runId;
        const all = snapshotsToRemove({ published, strays: [], current, settings, now: NOW });
        const { recent, ...rest } = input(published, snapshotsMs, known);
        fc.pre(showGrace(recent, NOW));
        const expired = expiredSnapshots({ recent, ...rest });
        expect(expired.gone).toEqual(all);
        expect(expired.at).toBeGreaterThan(NOW);
        // Nothing expires before it is looked for again.
        const left = published.filter((one) => !all.includes(one));
        const before = { published: left, strays: [], current, settings, now: expired.at - 1 };
        expect(snapshotsToRemove(before)).toEqual([]);
      }),
    );
  });
});
