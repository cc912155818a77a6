import type { ObjectKey, RunId } from '../core/brands.js';
import { inParallel } from '../core/in-parallel.js';
import { inFolder, MANIFEST, runFolder, type Tree, treePrefix } from './layout.js';
import type { Pointer } from './pointer.js';
import { isRunId } from './run-id.js';
import type { ObjectStore } from './store/index.js';

const LISTINGS_AT_ONCE = 8;

/** Runs that have a folder in a tree, with the date of its `dt=`. */
export type RunFolders = ReadonlyMap<RunId, string>;

/** A run on the chain of previous runs: it was published (DESIGN 6). */
export interface ChainedRun {
  readonly runId: RunId;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
  /** Key of its change log's manifest. */
  readonly changes: ObjectKey;
}

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

/**
 * The chain of previous runs, newest first. Change logs stay for ever, so it runs through their manifests; it ends
 * where one is missing.
 *
 * @param newest key of the change log's manifest of the run that it begins with
 * @param changes folders of the change logs to look among
 */
export async function* readChain(
  store: ObjectStore,
  resource: string,
  newest: ObjectKey | null,
  changes: RunFolders,
): AsyncGenerator<ChainedRun> {
  const seen = new Set<RunId>();
  for (let key = newest; key !== null; ) {
    const found = await store.readIfExists(key);
    if (found === null) return;
    const { worktrack } = JSON.parse(found.body.toString('utf8')) as {
      worktrack: { runId: RunId; publishedAt: string; previousRunId: RunId | null };
    };
    const { runId, publishedAt, previousRunId } = worktrack;
    // A run that comes again would mean a ring; there is none unless somebody wrote one.
    if (seen.has(runId)) return;
    seen.add(runId);
    yield { runId, publishedAt: Date.parse(publishedAt), changes: key };
    key = previousRunId === null ? null : manifestOf(resource, 'changes', changes, previousRunId);
  }
}

/**
 * The runs that count as published, the last one first: the chain of previous runs from `latest.json` (DESIGN 6).
 *
 * @param changes folders of change logs; one object is read for each run that is asked for
 */
export async function* publishedRuns(
  store: ObjectStore,
  { resource, runId, publishedAt, changes: newest }: Pointer,
  changes: RunFolders,
): AsyncGenerator<Pick<ChainedRun, 'runId' | 'publishedAt'>> {
  // It is published, whatever became of its change log.
  yield { runId, publishedAt: Date.parse(publishedAt) };
  for await (const run of readChain(store, resource, newest, changes)) if (run.runId !== runId) yield run;
}
