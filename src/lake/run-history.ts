import type { ObjectKey, RunId, UtcSeconds } from '../core/brands.js';
import type { RunMode } from '../core/contract.js';
import { folderOf } from './layout.js';
import { decodeManifest, type Manifest } from './manifest.js';
import type { Pointer } from './pointer.js';
import { listDates, listRuns, manifestOf, type RunFolders, readChain } from './runs.js';
import type { ObjectStore } from './store/index.js';

/** A published run as the manifest of its change log tells of it; the parts are those of the change log. */
export interface PastRun extends Manifest {
  readonly mode: RunMode;
  /** What the lists were asked for; `null` for everything. */
  readonly updatedSince: UtcSeconds | null;
  readonly pages: number;
}

/**
 * The last published runs, newest first, along the chain of previous runs (DESIGN 6). Costs one listing a day and one
 * object a run, `most` of each, however old the lake is. Ends early where a manifest is missing or of another layout.
 *
 * @param most runs at most; only as many of the newest days are looked into
 */
export async function readHistory(store: ObjectStore, pointer: Pointer, most: number): Promise<PastRun[]> {
  const dates = (await listDates(store, pointer.resource, 'changes')).sort().slice(-most);
  const own = /\/(dt=\d{4}-\d\d-\d\d)\/run=/.exec(pointer.changes ?? pointer.snapshot)?.[1];
  const days = own === undefined || dates.includes(own) ? dates : [own, ...dates];
  const folders = await listRuns(store, pointer.resource, 'changes', days);
  return read(store, pointer.resource, pointer.changes, { folders, most });
}

/**
 * The history as it was at an earlier run. Costs one listing for each day of the lake and one object for each run since.
 *
 * @returns `null` when the run is not on the chain
 */
export async function readHistoryAt(
  store: ObjectStore,
  { resource, changes }: Pointer,
  { runId, most }: { readonly runId: RunId; readonly most: number },
): Promise<PastRun[] | null> {
  const folders = await listRuns(store, resource, 'changes', await listDates(store, resource, 'changes'));
  if (manifestOf(resource, 'changes', folders, runId) === null) return null;
  for await (const run of readChain(store, resource, changes, folders)) {
    if (run.runId === runId) return read(store, resource, run.changes, { folders, most });
  }
  return null;
}

async function read(
  store: ObjectStore,
  resource: string,
  newest: ObjectKey | null,
  { folders, most }: { readonly folders: RunFolders; readonly most: number },
): Promise<PastRun[]> {
  const runs: PastRun[] = [];
  const seen = new Set<RunId>();
  for (let key = newest; key !== null && runs.length < most; ) {
    const found = await store.readIfExists(key);
    const run = found === null ? null : decoded(found.body, key);
    // A run that comes again would mean a ring; there is none unless somebody wrote one.
    if (run === null || seen.has(run.runId)) break;
    seen.add(run.runId);
    runs.push(run);
    key = run.previousRunId === null ? null : manifestOf(resource, 'changes', folders, run.previousRunId);
  }
  return runs;
}

function decoded(body: Buffer, key: ObjectKey): PastRun | null {
  try {
    return decodeManifest(body, folderOf(key)) as PastRun;
  } catch {
    return null;
  }
}
