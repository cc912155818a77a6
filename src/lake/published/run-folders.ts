import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import { isRunId } from '../../core/run-id.js';
import { DamagedError } from '../damaged-error.js';
import { inFolder, MANIFEST, runFolder, type Tree, treePrefix } from '../documents/lake-layout.js';
import { type Manifest, readManifest } from '../documents/manifest.js';
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
 * Finds the newest complete change log of a resource that has no `latest.json`: it may have been lost.
 *
 * @param isWanted other change logs are passed over
 * @returns its manifest; `null` if there is none
 * @throws LakeLayoutError if a manifest has another layout
 */
export async function findNewestRun(
  store: ObjectStore,
  resource: string,
  isWanted: (manifest: Manifest) => boolean,
): Promise<Manifest | null> {
  for (const date of (await listDates(store, resource, 'changes')).sort().reverse()) {
    const runs = await listRuns(store, resource, 'changes', [date]);
    for (const runId of [...runs.keys()].sort().reverse()) {
      const key = manifestOf(resource, 'changes', runs, runId);
      const found = key === null ? null : await readManifest(store, key).catch(nullIfDamaged);
      if (found !== null && isWanted(found)) return found;
    }
  }
  return null;
}

function nullIfDamaged(error: unknown): null {
  if (error instanceof DamagedError) return null;
  throw error;
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
