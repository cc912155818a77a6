import type { RunId } from '../../core/brands.js';
import { parseRunDate } from '../../core/run-id.js';
import { nextRemoval, READER_GRACE_MS, type SnapshotRun, snapshotsToRemove } from './retention.js';
import type { RunFolders } from './run-folders.js';

interface ExpiredInput {
  /** The runs of the days that are older than the retention. */
  readonly folders: RunFolders;
  /** The newest published runs, newest first, without a gap. The first is the one that `latest.json` names. */
  readonly recent: readonly Pick<SnapshotRun, 'runId' | 'publishedAt'>[];
  /** The other days, as folder names. */
  readonly unlisted: readonly string[];
  readonly snapshotsMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface Expired {
  /** Snapshots to remove, oldest first. */
  readonly gone: readonly SnapshotRun[];
  /** When the age of the next snapshot is reached, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Selects the snapshots that are older than the retention, by the rule of `snapshotsToRemove`, but without the chain of
 * runs. That is enough if the recent runs reach back more than `READER_GRACE_MS`: every run before them has a successor that
 * readers have known for longer. Snapshots that another one of the same day superseded are left to a complete clean-up.
 *
 * @returns `null` if the recent runs do not reach back far enough
 */
export function expiredSnapshots({
  folders,
  recent,
  unlisted,
  snapshotsMs,
  now,
}: ExpiredInput): Expired | null {
  if (!recent.some(({ publishedAt }) => now - publishedAt > READER_GRACE_MS)) return null;
  const settings = { snapshotsMs, keepPerDay: 'all' } as const;
  const known = new Set(recent.map(({ runId }) => runId));
  const published = recent.map((run) => ({ ...run, date: folders.get(run.runId) ?? '' }));
  const earlier: SnapshotRun[] = [...folders]
    .filter(([runId]) => !known.has(runId))
    .map(([runId, date]) => ({ runId, date, publishedAt: parseRunDate(runId) }));
  const current = recent[0]!.runId;
  const gone = snapshotsToRemove({ published, strays: earlier, current, settings, now }).filter(({ runId }) =>
    folders.has(runId),
  );
  const removed = new Set<RunId>(gone.map(({ runId }) => runId));
  const isLeft = ({ runId }: SnapshotRun): boolean => folders.has(runId) && !removed.has(runId);
  const { at } = nextRemoval({
    // Of those that are old enough, only the ones that are still there count.
    published: published.filter((run) => isLeft(run) || now - run.publishedAt <= snapshotsMs),
    strays: earlier.filter(isLeft),
    ...{ unlisted, settings, now },
  });
  return { gone, at };
}
