import type { ObjectKey, RunId } from '../core/brands.js';
import { inParallel } from '../core/in-parallel.js';
import { inFolder, MANIFEST, runFolder, type Tree, treePrefix } from './layout.js';
import type { Pointer } from './pointer.js';
import { isRunId } from './run-id.js';
import type { ObjectStore } from './store/index.js';

const LISTINGS_AT_ONCE = 8;

/** Runs that have a folder in a tree, with the date of its `dt=`. */
export type RunFolders = ReadonlyMap<RunId, string>;

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

/** A run on the chain of previous runs. */
export interface PublishedRun {
  readonly runId: RunId;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
}

/**
 * The runs that count as published, the last one first: the chain of previous runs from `latest.json` (DESIGN 6).
 * Change logs stay for ever, so the chain runs through their manifests; it ends where it leaves `changes`.
 *
 * @param changes folders of change logs; one object is read for each run that is asked for
 */
export async function* publishedRuns(
  store: ObjectStore,
  pointer: Pointer,
  changes: RunFolders,
): AsyncGenerator<PublishedRun> {
  const seen = new Set<RunId>([pointer.runId]);
  yield { runId: pointer.runId, publishedAt: Date.parse(pointer.publishedAt) };
  let key: ObjectKey | null = pointer.changes;
  while (key !== null) {
    const found = await store.readIfExists(key);
    if (found === null) return;
    const { worktrack } = JSON.parse(found.body.toString('utf8')) as {
      worktrack: { runId: RunId; publishedAt: string; previousRunId: RunId | null };
    };
    if (worktrack.runId !== pointer.runId) {
      yield { runId: worktrack.runId, publishedAt: Date.parse(worktrack.publishedAt) };
    }
    const previous = worktrack.previousRunId;
    const date = previous === null ? undefined : changes.get(previous);
    // A run that comes again would mean a ring; there is none unless somebody wrote one.
    if (previous === null || date === undefined || seen.has(previous)) return;
    seen.add(previous);
    key = inFolder(runFolder(pointer.resource, 'changes', date, previous), MANIFEST);
  }
}
