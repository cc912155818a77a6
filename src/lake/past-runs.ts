import type { ObjectKey, RunId } from '../core/brands.js';
import type { RunCounts, RunMode } from '../core/contract.js';
import { folderOf, pointerKey } from './layout.js';
import { decodeManifest } from './manifest.js';
import { decodePointer, type Pointer } from './pointer.js';
import { listDates, listRuns, readChain } from './runs.js';
import type { ObjectStore } from './store/index.js';

/** A published run, as its manifest tells of it. */
export interface PastRun {
  readonly runId: RunId;
  readonly mode: RunMode;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly publishedAt: number;
  readonly counts: RunCounts;
  readonly warnings: readonly string[];
}

/** Beyond the number of runs asked for: rolled-back runs and empty days cost folders too. */
const MORE_DATES = 10;

/**
 * The runs of a resource that count as published, newest first (DESIGN 6): at most `limit` of them. Reads one object a run,
 * and lists only the newest days as long as those suffice.
 */
export async function pastRuns(store: ObjectStore, resource: string, limit: number): Promise<PastRun[]> {
  const found = await store.readIfExists(pointerKey(resource));
  if (found === null) return [];
  const pointer = decodePointer(found.body);
  const dates = await listDates(store, resource, 'changes');
  const newest = dates.slice(-(limit + MORE_DATES));
  const runs = await walk(store, resource, pointer, newest, limit);
  const isAll = runs.length >= limit || newest.length === dates.length;
  return isAll ? runs : walk(store, resource, pointer, dates, limit);
}

async function walk(
  store: ObjectStore,
  resource: string,
  pointer: Pointer,
  dates: readonly string[],
  limit: number,
): Promise<PastRun[]> {
  const folders = await listRuns(store, resource, 'changes', dates);
  const runs: PastRun[] = [];
  for await (const { changes } of readChain(store, resource, pointer.changes, folders)) {
    runs.push(await readRun(store, changes));
    if (runs.length >= limit) return runs;
  }
  // Published it is, whatever became of its change log.
  return runs.length > 0 ? runs : [await readRun(store, pointer.snapshot)];
}

async function readRun(store: ObjectStore, key: ObjectKey): Promise<PastRun> {
  const { runId, mode, startedAt, publishedAt, counts, warnings } = decodeManifest(
    await store.read(key),
    folderOf(key),
  );
  const [started, published] = [startedAt, publishedAt].map((time) => Date.parse(time));
  return { runId, mode, startedAt: started!, publishedAt: published!, counts, warnings };
}
