import type { EpochMs, Millis, RunId } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import type { RetentionSettings } from '../../core/settings.js';

/** How long what was replaced is kept for readers that still use it (docs/reference/lake.md). */
export const READER_GRACE_MS: Millis = DAY_MS;

/**
 * Snapshots, and versions of a table, that were replaced before this time are no longer kept.
 *
 * @param retentionMs how long the configuration keeps them
 */
export function keptSince(now: EpochMs, retentionMs: Millis = 0): EpochMs {
  return now - Math.max(retentionMs, READER_GRACE_MS);
}

/** A run's folder among a resource's snapshots. */
export interface SnapshotRun {
  /** Date of its `dt=` folder, such as `2026-11-21`. */
  readonly date: string;
  readonly runId: RunId;
  /** For a run that was not published, the time when it started. */
  readonly publishedAt: EpochMs;
}

interface RetentionInput {
  /** Runs on the chain of `latest.json`, in any order. */
  readonly published: readonly SnapshotRun[];
  /** Folders of runs that are not on the chain: they lost the swap, failed before it, or were rolled back. */
  readonly strays: readonly SnapshotRun[];
  /** The run in `latest.json`. */
  readonly current: RunId;
  readonly settings: RetentionSettings;
  readonly now: EpochMs;
}

/**
 * Returns the snapshots to remove, oldest first. It keeps the snapshot in `latest.json`, snapshots published
 * after it, and snapshots whose successor is younger than 24 h, because readers may still use them. Of the others, it
 * removes those older than `snapshotsMs` and, with `keepPerDay: 'last'`, those that a later run of the same `dt` superseded
 * more than 24 h ago. Strays are removed by age, once a run that was published after them is older than 24 h: they supersede
 * no other snapshot. Change logs are kept.
 */
export function snapshotsToRemove(input: RetentionInput): SnapshotRun[] {
  const { published, strays, current, settings, now } = input;
  const inOrder = [...published].sort(byPublication);
  const isOld = (run: SnapshotRun): boolean => now - run.publishedAt > settings.snapshotsMs;
  const isOut = (run: SnapshotRun | undefined): boolean =>
    run !== undefined && run.publishedAt < keptSince(now);
  const currentAt = inOrder.findIndex((run) => run.runId === current);
  const gone = inOrder.filter((run, at) => {
    if (at >= currentAt || !isOut(inOrder[at + 1])) return false;
    const superseded = inOrder.slice(at + 1, currentAt + 1).find((later) => later.date === run.date);
    return isOld(run) || (settings.keepPerDay === 'last' && isOut(superseded));
  });
  // A stray may have been current until a rollback, which was before the next run was published.
  const lost = strays.filter((run) => {
    const next = inOrder.find((later) => later.publishedAt > run.publishedAt);
    return run.runId !== current && isOld(run) && isOut(next);
  });
  return [...gone, ...lost].sort(byPublication);
}

/** Runs of one resource are sequential, so the run id decides between equal times. */
function byPublication(a: SnapshotRun, b: SnapshotRun): number {
  return a.publishedAt - b.publishedAt || (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0);
}
