import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import { isRunId } from '../../core/run-id.js';
import { DamagedError } from '../damaged-error.js';
import { inFolder, MANIFEST, runFolder, type Tree, treePrefix } from '../documents/lake-layout.js';
import { readManifest } from '../documents/manifest.js';
import type { ObjectStore } from '../store/index.js';

const CONCURRENT_LISTINGS = 8;

/** Runs that have a folder in a tree, with the date of the `dt=` folder. */
export type RunFolders = ReadonlyMap<RunId, string>;

/** Lists the names of the `dt=` folders of a tree. */
export function listDates(store: ObjectStore, resource: string, tree: Tree): Promise<string[]> {
  return store.listFolders(treePrefix(resource, tree));
}

/** Lists the runs of a tree. @param dates folder names such as `dt=2026-11-21`, default all; other names are ignored */
export async function listRuns(
  store: ObjectStore,
  resource: string,
  tree: Tree,
  dates?: readonly string[],
): Promise<RunFolders> {
  const prefix = treePrefix(resource, tree);
  const known = (dates ?? (await listDates(store, resource, tree))).filter((date) =>
    /^dt=\d{4}-\d\d-\d\d$/.test(date),
  );
  const runs = await inParallel(known, CONCURRENT_LISTINGS, (date) => store.listFolders(`${prefix}${date}/`));
  const folders = new Map<RunId, string>();
  for (const [at, names] of runs.entries()) {
    for (const name of names) {
      const run = name.replace(/^run=/, '');
      // Other folders were not written by this connector.
      if (isRunId(run)) folders.set(run, known[at]!.slice('dt='.length));
    }
  }
  return folders;
}

/**
 * Checks the layout of the runs of a resource that has no `latest.json`: it may have been lost.
 *
 * @throws LakeLayoutError
 */
export async function checkLayoutOfRuns(store: ObjectStore, resource: string): Promise<void> {
  const newest = (await listDates(store, resource, 'changes')).sort().at(-1);
  if (newest === undefined) return;
  const runs = await listRuns(store, resource, 'changes', [newest]);
  for (const runId of [...runs.keys()].sort().reverse()) {
    try {
      if ((await readManifest(store, manifestOf(resource, 'changes', runs, runId)!)) !== null) return;
    } catch (error) {
      if (!(error instanceof DamagedError)) throw error;
    }
  }
}

/** Key of a run's manifest; `null` if the tree has no folder of the run. */
export function manifestOf(
  resource: string,
  tree: Tree,
  folders: RunFolders,
  runId: RunId,
): ObjectKey | null {
  const date = folders.get(runId);
  return date === undefined ? null : inFolder(runFolder(resource, tree, date, runId), MANIFEST);
}
