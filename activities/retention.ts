import type { ObjectKey, RunId } from '../src/core/brands.js';
import type { RetentionSettings } from '../src/core/settings.js';
import { publishedRuns } from '../src/lake/chain.js';
import { inFolder, MANIFEST, runFolder } from '../src/lake/layout.js';
import {
  datesToLookAt,
  READER_GRACE_MS,
  type SnapshotRun,
  snapshotsToRemove,
} from '../src/lake/retention.js';
import { parseRunDate } from '../src/lake/run-id.js';
import { listDates, listRuns } from '../src/lake/runs.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import type { LastRun } from './last-run.js';
import { removeAll } from './remove.js';

/** Folders that one call removes at most: what is left over, the next run's call does. */
const RUNS_A_CALL = 50;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Removes snapshots that the settings no longer keep (`snapshotsToRemove` holds the rule); returns the runs they
 * were of. Its work does not grow with the number of snapshots, but on the first day of a month.
 */
export async function removeOldSnapshots(
  store: ObjectStore,
  last: LastRun,
  settings: RetentionSettings,
  now: number,
): Promise<RunId[]> {
  const { resource, runId: current } = last.pointer;
  const dates = datesToLookAt(await listDates(store, resource, 'snapshots'), settings, now);
  const [old, recent] = await Promise.all(
    [dates.old, dates.recent].map((some) => listRuns(store, resource, 'snapshots', some)),
  );
  const snapshots = new Map([...old!, ...recent!]);
  const publishedTimes = await readPublishedTimes(last, {
    wanted: snapshots.keys(),
    // What is older than all that may stay has had a successor for a day, published or not. Clocks differ.
    until: Math.min(now - READER_GRACE_MS, ...[...recent!.keys()].map(parseRunDate)) - DAY_MS,
  });
  const published: SnapshotRun[] = [];
  const strays: SnapshotRun[] = [];
  for (const [run, date] of snapshots) {
    const publishedAt = publishedTimes.get(run);
    if (publishedAt === undefined) strays.push({ date, runId: run, publishedAt: parseRunDate(run) });
    else published.push({ date, runId: run, publishedAt });
  }
  const gone = snapshotsToRemove({ published, strays, current, settings, now }).slice(0, RUNS_A_CALL);
  for (const run of gone) await removeRun(store, runFolder(resource, 'snapshots', run.date, run.runId));
  return gone.map((run) => run.runId);
}

/** When the wanted runs were published, of those that were; looks back no further than `until`. */
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

/** The manifest first: at no moment does a folder look complete that is not. A call cut short is made up for by the next. */
async function removeRun(store: ObjectStore, folder: ObjectKey): Promise<void> {
  await store.remove([inFolder(folder, MANIFEST)]);
  await removeAll(store, `${folder}/`);
}
