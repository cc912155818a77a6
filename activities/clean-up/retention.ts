import type { RunId } from '../../src/core/brands.js';
import type { CleanUpDue } from '../../src/core/contract/index.js';
import { DAY_MS } from '../../src/core/duration.js';
import { parseRunDate } from '../../src/core/run-id.js';
import type { RetentionSettings } from '../../src/core/settings.js';
import { publishedRuns } from '../../src/lake/published/chain.js';
import { runFolder } from '../../src/lake/published/layout.js';
import {
  datesToCheck,
  nextRemoval,
  READER_GRACE_MS,
  type SnapshotRun,
  snapshotsToRemove,
} from '../../src/lake/published/retention.js';
import { listDates, listRuns } from '../../src/lake/published/run-folders.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../src/lake/store/index.js';
import type { LastRun } from '../shared/published-run.js';
import { removeFolder } from '../shared/remove-folders.js';

/** Folders that one call removes at most. The clean-up of the next run removes the rest. */
const MAX_RUNS_PER_CALL = 50;

interface RetentionTask {
  /** Milliseconds since 1970, by Temporal's clock: a worker whose clock is ahead must not remove snapshots. */
  readonly now: number;
  /** The last run with a complete clean-up; `null`: none is known. */
  readonly cleanedUpTo: RunId | null;
  /** The settings of that clean-up, as JSON. Absent: not known. */
  readonly before?: string;
  readonly signal: AbortSignal;
}

interface RetentionResult {
  readonly due: CleanUpDue;
  /** Whether everything is removed. Otherwise the clean-up of the next run continues. */
  readonly complete: boolean;
  /** What the store refused to remove. */
  readonly refused: Removal;
}

/**
 * Removes snapshots beyond their retention (`snapshotsToRemove` holds the rule) and returns when the next one may be
 * removed (`nextRemoval`). The work does not grow with the number of snapshots, except in the first clean-up of each month
 * and after a change of the settings. A call that is interrupted leaves folders without a manifest, which the next call
 * removes.
 */
export async function removeOldSnapshots(
  store: ObjectStore,
  last: LastRun,
  settings: RetentionSettings,
  { now, cleanedUpTo, before, signal }: RetentionTask,
): Promise<RetentionResult> {
  const { resource, runId: current } = last.pointer;
  const all = await listDates(store, resource, 'snapshots');
  const retention = JSON.stringify(settings);
  const hasChanged = before !== undefined && before !== retention;
  const dates = datesToCheck(all, settings, { now, cleanedUpTo: hasChanged ? null : cleanedUpTo });
  const [expired, recent] = await Promise.all(
    [dates.old, dates.recent].map((some) => listRuns(store, resource, 'snapshots', some)),
  );
  const snapshots = new Map([...expired!, ...recent!]);
  const publishedTimes = await readPublishedTimes(last, {
    wanted: snapshots.keys(),
    // A run that began before this time cannot change the decision. One day is added because clocks differ.
    until: Math.min(now - READER_GRACE_MS, ...[...recent!.keys()].map(parseRunDate)) - DAY_MS,
  });
  const published: SnapshotRun[] = [];
  const strays: SnapshotRun[] = [];
  for (const [run, date] of snapshots) {
    const publishedAt = publishedTimes.get(run);
    if (publishedAt === undefined) strays.push({ date, runId: run, publishedAt: parseRunDate(run) });
    else published.push({ date, runId: run, publishedAt });
  }
  const old = snapshotsToRemove({ published, strays, current, settings, now });
  const gone = old.slice(0, MAX_RUNS_PER_CALL);
  let refused = ALL_REMOVED;
  for (const run of gone)
    refused = addRemovals(
      refused,
      await removeFolder(store, runFolder(resource, 'snapshots', run.date, run.runId), signal),
    );
  const isGone = new Set(gone.map((run) => run.runId));
  const left = (runs: readonly SnapshotRun[]) => runs.filter(({ runId }) => !isGone.has(runId));
  const unlisted = all.filter((date) => !dates.old.includes(date) && !dates.recent.includes(date));
  const next = nextRemoval({ published: left(published), strays: left(strays), unlisted, settings, now });
  return { due: { ...next, retention }, complete: gone.length === old.length, refused };
}

/** Publication times of the wanted runs that were published. Reads the chain back to `until`. */
async function readPublishedTimes(
  { pointer, chain }: LastRun,
  { wanted, until }: { readonly wanted: Iterable<RunId>; readonly until: number },
): Promise<ReadonlyMap<RunId, number>> {
  const times = new Map<RunId, number>();
  const unseen = new Set(wanted);
  for await (const { runId, publishedAt } of publishedRuns(pointer, chain)) {
    times.set(runId, publishedAt);
    unseen.delete(runId);
    if (unseen.size === 0 || publishedAt < until) break;
  }
  return times;
}
