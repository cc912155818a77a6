import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import type { RetentionSettings } from '../../../src/core/settings.js';
import {
  datesToCheck,
  nextRemoval,
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

  it('keeps snapshots published after the run that the pointer names', () => {
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
    const settings = LAST;
    const [at, current] = [run(month), run(23)];
    const next = nextRemoval({ published: [current], strays: [at], unlisted: [], settings, now: NOW });
    expect(next.at).toBe(current.publishedAt + READER_GRACE_MS + 1);
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

describe('the days to check', () => {
  const now = Date.parse('2026-11-21T02:00:00Z');
  const days = Array.from(
    { length: 60 },
    (_, ago) => `dt=${new Date(now - ago * 24 * 3_600_000).toISOString().slice(0, 10)}`,
  );
  const settings: RetentionSettings = { snapshotsMs: 30 * 24 * 3_600_000, keepPerDay: 'last' };
  const cleanedUpTo = '20261101T000000Z-00000000' as RunId;

  it('are the latest ones and the expired ones, however many are in between', () => {
    const { old, recent } = datesToCheck([...days, 'of-somebody-else'], settings, { now, cleanedUpTo });
    expect(recent).toEqual(days.slice(0, 10).reverse());
    expect(old).toEqual(days.slice(30).reverse());
  });

  it('are all of them in the first clean-up of a month, because the settings may have changed', () => {
    for (const before of ['20261031T235959Z-00000000' as RunId, null]) {
      const { old, recent } = datesToCheck(days, settings, { now, cleanedUpTo: before });
      expect(recent.length).toBe(30);
      expect([...old, ...recent]).toEqual(days.toSorted());
    }
    expect(datesToCheck([], settings, { now, cleanedUpTo: null })).toEqual({ old: [], recent: [] });
  });
});

describe('the next removal', () => {
  const settings: RetentionSettings = { snapshotsMs: 30 * DAY, keepPerDay: 'last' };
  const none = { strays: [], unlisted: [], settings, now: NOW };
  const at = (day: number, hour = 2) => Date.parse('2026-11-01T00:00:00Z') + day * DAY + hour * (DAY / 24);
  const run = (day: number, hour = 2): SnapshotRun => ({
    date: new Date(at(day)).toISOString().slice(0, 10),
    runId: `2026110${day}T0${hour}0000Z-00000000` as RunId,
    publishedAt: at(day, hour),
  });

  it('is when the oldest snapshot has reached its retention', () => {
    const now = at(30);
    const next = nextRemoval({ ...none, published: [run(2), run(1), run(3)], now });
    expect(next).toEqual({ at: at(31) + 1, otherwiseAt: Date.parse('2027-01-01T00:00:00Z') });
  });

  it('is at the start of the next month at the latest, when every day is checked', () => {
    const otherwiseAt = Date.parse('2026-12-01T00:00:00Z');
    expect(nextRemoval({ ...none, published: [run(9)] })).toEqual({ at: otherwiseAt, otherwiseAt });
  });

  it('is a day after another run of the same day, except where all are kept', () => {
    const published = [run(1), run(1, 5), run(2)];
    const time = at(2, 5) + 1;
    expect(nextRemoval({ ...none, published })).toEqual({ at: time, otherwiseAt: time });
    const all: RetentionSettings = { ...settings, keepPerDay: 'all' };
    expect(nextRemoval({ ...none, published, settings: all, now: at(30) }).at).toBe(at(31) + 1);
  });

  it('counts days that were not listed from their beginning', () => {
    const unlisted = ['dt=2026-11-03', 'other'];
    expect(nextRemoval({ ...none, published: [run(5)], unlisted, now: at(30) }).at).toBe(at(32, 0) + 1);
  });

  it('never comes after the rule selects a snapshot', () => {
    const published = [run(1), run(1, 5), run(2), run(4)];
    const { at: next } = nextRemoval({ ...none, published });
    const gone = (now: number) =>
      snapshotsToRemove({ published, strays: [], current: published.at(-1)!.runId, settings, now });
    expect(gone(next - 2)).toEqual([]);
    expect(gone(next)).not.toEqual([]);
  });
});
