import type { ObjectKey, RunId } from '../core/brands.js';
import { inParallel } from '../core/in-parallel.js';
import { inFolder, MANIFEST, runFolder, type Tree, treePrefix } from './layout.js';
import { isRunId } from './run-id.js';
import type { ObjectStore } from './store/index.js';

const LISTINGS_AT_ONCE = 8;

/** Runs that have a folder in a tree, with the date of its `dt=`. */
export type RunFolders = ReadonlyMap<RunId, string>;

/** Names of the `dt=` folders of a tree. */
export function listDates(store: ObjectStore, resource: string, tree: Tree): Promise<string[]> {
  return store.listFolders(treePrefix(resource, tree));
}

/** @param dates names of the folders to look into, `dt=2026-11-21`; what is no such name is left out */
export async function listRuns(
  store: ObjectStore,
  resource: string,
  tree: Tree,
  dates: readonly string[],
): Promise<RunFolders> {
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

/** Key of a run's manifest; `null` where the tree has no folder of it. */
export function manifestOf(
  resource: string,
  tree: Tree,
  folders: RunFolders,
  runId: RunId,
): ObjectKey | null {
  const date = folders.get(runId);
  return date === undefined ? null : inFolder(runFolder(resource, tree, date, runId), MANIFEST);
}
