import type { ObjectKey, RunId } from '../src/core/brands.js';
import type { RunRef } from '../src/core/contract.js';
import { inParallel } from '../src/core/in-parallel.js';
import type { RetentionSettings } from '../src/core/settings.js';
import { inFolder, MANIFEST, pointerKey, runFolder, type Tree, treePrefix } from '../src/lake/layout.js';
import { decodePointer, type Pointer } from '../src/lake/pointer.js';
import { type SnapshotRun, snapshotsToRemove } from '../src/lake/retention.js';
import { isRunId, parseRunDate } from '../src/lake/run-id.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import { removeAll } from './remove.js';

/** Folders that one call removes at most: what is left over, the next run's call does. */
const RUNS_A_CALL = 50;
const LISTINGS_AT_ONCE = 8;

/** Runs that have a folder in a tree, with the date of its `dt=`. */
type Folders = ReadonlyMap<RunId, string>;

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

  const dates = await store.listFolders(treePrefix(resource, 'snapshots'));
  const snapshots = await runFolders(store, resource, 'snapshots', dates);
  const changes = await runFolders(store, resource, 'changes', dates);
  const chain = await readChain(store, pointer, changes);
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

async function runFolders(
  store: ObjectStore,
  resource: string,
  tree: Tree,
  dates: readonly string[],
): Promise<Folders> {
  const prefix = treePrefix(resource, tree);
  const known = dates.filter((date) => /^dt=\d{4}-\d\d-\d\d$/.test(date));
  const runs = await inParallel(known, LISTINGS_AT_ONCE, (date) => store.listFolders(`${prefix}${date}/`));
  const folders = new Map<RunId, string>();
  for (const [at, names] of runs.entries()) {
    for (const name of names) {
      const run = name.replace(/^run=/, '');
      // Folders that are not ours stay.
      if (isRunId(run)) folders.set(run, known[at]!.slice('dt='.length));
    }
  }
  return folders;
}

/**
 * When each run on the chain of previous runs was published, in ms. Change logs stay for ever, so the chain runs
 * through their manifests; it ends where it leaves the dates that have snapshots.
 */
async function readChain(
  store: ObjectStore,
  pointer: Pointer,
  changes: Folders,
): Promise<Map<RunId, number>> {
  const chain = new Map<RunId, number>([[pointer.runId, Date.parse(pointer.publishedAt)]]);
  let key = pointer.changes;
  while (key !== null) {
    const found = await store.readIfExists(key);
    if (found === null) break;
    const { worktrack } = JSON.parse(found.body.toString('utf8')) as {
      worktrack: { resource: string; runId: RunId; publishedAt: string; previousRunId: RunId | null };
    };
    chain.set(worktrack.runId, Date.parse(worktrack.publishedAt));
    const previous = worktrack.previousRunId;
    const date = previous === null ? undefined : changes.get(previous);
    // A run that comes again would mean a ring; there is none unless somebody wrote one.
    if (previous === null || date === undefined || chain.has(previous)) break;
    key = inFolder(runFolder(pointer.resource, 'changes', date, previous), MANIFEST);
  }
  return chain;
}
