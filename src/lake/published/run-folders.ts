import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import { isRunId } from '../../core/run-id.js';
import { manifestKey, type Tree, treePrefix } from '../documents/lake-layout.js';
import { type Manifest, readIntact } from '../documents/manifest.js';
import type { ObjectStore } from '../store/index.js';
import { AMONG_OTHERS } from './foreign-files.js';

const CONCURRENT_LISTINGS = 8;

/** Runs that have a folder in a tree, with the key that a manifest has there. */
export type RunFolders = ReadonlyMap<RunId, ObjectKey>;

/** Lists the runs of a tree. @param dates folder names such as `dt=2026-11-21`, default all; other names are ignored */
export async function listRuns(
  store: ObjectStore,
  resource: string,
  tree: Tree,
  dates?: readonly string[],
): Promise<RunFolders> {
  const prefix = treePrefix(resource, tree);
  const known = (dates ?? (await store.listFolders(prefix, AMONG_OTHERS))).filter((date) =>
    /^dt=\d{4}-\d\d-\d\d$/.test(date),
  );
  const runs = await inParallel(known, CONCURRENT_LISTINGS, (date) =>
    store.listFolders(`${prefix}${date}/`, AMONG_OTHERS),
  );
  const folders = new Map<RunId, ObjectKey>();
  for (const [at, names] of runs.entries()) {
    for (const name of names) {
      const run = name.replace(/^run=/, '');
      // Other folders were not written by this connector.
      if (isRunId(run)) folders.set(run, manifestKey(resource, tree, known[at]!.slice('dt='.length), run));
    }
  }
  return folders;
}

/** The folders of days in the tree of change logs. */
export function changeDates(store: ObjectStore, resource: string): Promise<string[]> {
  return store.listFolders(treePrefix(resource, 'changes'), AMONG_OTHERS);
}

/**
 * Finds the newest complete change log of a resource that has no `latest.json`: it may have been lost.
 *
 * @param isWanted other change logs are passed over
 * @param dates what `changeDates` returns
 * @returns its manifest; `null` if there is none
 * @throws LakeLayoutError if a manifest has another layout
 */
export async function findNewestRun(
  store: ObjectStore,
  resource: string,
  isWanted: (manifest: Manifest) => boolean,
  dates = changeDates(store, resource),
): Promise<Manifest | null> {
  for (const date of (await dates).toSorted().reverse()) {
    const runs = await listRuns(store, resource, 'changes', [date]);
    for (const runId of [...runs.keys()].sort().reverse()) {
      const found = await readIntact(store, runs.get(runId)!);
      if (found !== null && isWanted(found)) return found;
    }
  }
  return null;
}
