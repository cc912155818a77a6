import type { RunId } from '../../core/brands.js';
import { parseRunDate } from '../../core/run-id.js';
import { nextRemoval, READER_GRACE_MS, type SnapshotRun, snapshotsToRemove } from './retention.js';
import type { RunFolders } from './run-folders.js';

/** A published run, as a manifest repeats it. */
type KnownRun = Pick<SnapshotRun, 'runId' | 'publishedAt'>;

interface ExpiredInput {
  /** The runs of the days that are older than the retention. */
  readonly folders: RunFolders;
  /** The newest published runs, newest first, without a gap. The first is the one that `latest.json` names. */
  readonly recent: readonly KnownRun[];
  /** The other days, as folder names. */
  readonly unlisted: readonly string[];
  readonly snapshotsMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Snapshots that are removed at most. */
  readonly most: number;
}

interface Expired {
  /** Snapshots to remove, oldest first. */
  readonly gone: readonly SnapshotRun[];
  /** When the next snapshot expires, or the next month starts, whichever is earlier; milliseconds since 1970. */
  readonly at: number;
}

/**
 * Whether the recent runs are enough to tell which snapshots readers may still use. They are if they reach back more than
 * `READER_GRACE_MS`: every run before them has a successor that was published even earlier.
 */
export function showGrace(recent: readonly KnownRun[], now: number): boolean {
  return recent.some(({ publishedAt }) => now - publishedAt > READER_GRACE_MS);
}

/**
 * Selects the snapshots that are older than the retention, by the rule of `snapshotsToRemove`, but without the chain of
 * runs. Like the clean-up, it counts the age of a run of long ago from its start. Snapshots superseded by a later one of
 * the same day are left to the clean-up. The recent runs must satisfy `showGrace`.
 */
export function expiredSnapshots({
  folders,
  recent,
  unlisted,
  snapshotsMs,
  now,
  most,
}: ExpiredInput): Expired {
  const settings = { snapshotsMs, keepPerDay: 'all' } as const;
  const known = new Set(recent.map(({ runId }) => runId));
  const published = recent.map((run) => ({ ...run, date: folders.get(run.runId) ?? '' }));
  const earlier: SnapshotRun[] = [...folders]
    .filter(([runId]) => !known.has(runId))
    .map(([runId, date]) => ({ runId, date, publishedAt: parseRunDate(runId) }));
  const current = recent[0]!.runId;
  const gone = snapshotsToRemove({ published, strays: earlier, current, settings, now })
    .filter(({ runId }) => folders.has(runId))
    .slice(0, most);
  const removed = new Set<RunId>(gone.map(({ runId }) => runId));
  const isLeft = ({ runId }: SnapshotRun): boolean => folders.has(runId) && !removed.has(runId);
  const { at } = nextRemoval({
    // Expired runs count only if their folder still exists.
    published: published.filter((run) => isLeft(run) || now - run.publishedAt <= snapshotsMs),
    strays: earlier.filter(isLeft),
    ...{ unlisted, settings, now },
  });
  return { gone, at };
}
