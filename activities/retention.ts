import type { ObjectKey, RunId } from '../src/core/brands.js';
import type { RunRef } from '../src/core/contract.js';
import type { RetentionSettings } from '../src/core/settings.js';
import { inFolder, MANIFEST, pointerKey, runFolder } from '../src/lake/layout.js';
import { decodePointer } from '../src/lake/pointer.js';
import { type SnapshotRun, snapshotsToRemove } from '../src/lake/retention.js';
import { parseRunDate } from '../src/lake/run-id.js';
import { listDates, listRuns, publishedRuns } from '../src/lake/runs.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import { removeAll } from './remove.js';

/** Folders that one call removes at most: what is left over, the next run's call does. */
const RUNS_A_CALL = 50;

/**
 * Removes snapshots that the settings no longer keep (`snapshotsToRemove` holds the rule); returns the runs they
 * were of. Does nothing when `latest.json` names another run than ours: then somebody else decides. Work is bounded
 * by the number of snapshots in the lake, not by its age.
 */
export async function removeOldSnapshots(
  store: ObjectStore,
  { resource, runId }: RunRef,
  settings: RetentionSettings,
  now: number,
): Promise<RunId[]> {
  const found = await store.readIfExists(pointerKey(resource));
  if (found === null) return [];
  const pointer = decodePointer(found.body);
  if (pointer.runId !== runId) return [];

  const dates = await listDates(store, resource, 'snapshots');
  const snapshots = await listRuns(store, resource, 'snapshots', dates);
  const changes = await listRuns(store, resource, 'changes', dates);
  const chain = new Map<RunId, number>();
  for await (const one of publishedRuns(store, pointer, changes)) chain.set(one.runId, one.publishedAt);
  const published: SnapshotRun[] = [];
  const strays: SnapshotRun[] = [];
  for (const [run, date] of snapshots) {
    const publishedAt = chain.get(run);
    if (publishedAt === undefined) strays.push({ date, runId: run, publishedAt: parseRunDate(run) });
    else published.push({ date, runId: run, publishedAt });
  }
  const current = pointer.runId;
  const gone = snapshotsToRemove({ published, strays, current, settings, now }).slice(0, RUNS_A_CALL);
  for (const run of gone) await removeRun(store, runFolder(resource, 'snapshots', run.date, run.runId));
  return gone.map((run) => run.runId);
}

/** The manifest first: at no moment does a folder look complete that is not. A call cut short is made up for by the next. */
async function removeRun(store: ObjectStore, folder: ObjectKey): Promise<void> {
  await store.remove([inFolder(folder, MANIFEST)]);
  await removeAll(store, `${folder}/`);
}
