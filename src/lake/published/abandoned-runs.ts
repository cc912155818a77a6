import type { RunId } from '../../core/brands.js';
import { DamagedError } from '../damaged-error.js';
import { type ObjectStore, StoreError } from '../store/index.js';
import { RunChain } from './chain.js';
import { rolledBackRoot } from './layout.js';
import { type Manifest, readManifest } from './manifest.js';
import type { Pointer } from './pointer.js';
import { listRuns, manifestOf } from './run-folders.js';

/**
 * The published runs that rollbacks have abandoned, newest first: after a rollback those of `rolledBackFrom`, and after
 * the next run those whose change logs are below `_rolled-back/` (docs/reference/lake.md). Needs permission to list;
 * without it, only the former are found.
 */
export async function readAbandoned(store: ObjectStore, pointer: Pointer, most: number): Promise<Manifest[]> {
  const readings = [rolledBackRuns(store, pointer, most), archivedRuns(store, pointer, most)];
  const runs = await Promise.all(readings.map(orNone));
  return runs
    .flat()
    .sort((a, b) => (a.runId < b.runId ? 1 : -1))
    .slice(0, most);
}

/** These runs only complement the published ones. */
async function orNone(reading: Promise<Manifest[]>): Promise<Manifest[]> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError || error instanceof DamagedError) return [];
    throw error;
  }
}

/** The runs from the newest rolled-back one to the one that the pointer names. */
async function rolledBackRuns(store: ObjectStore, pointer: Pointer, most: number): Promise<Manifest[]> {
  const { resource, runId, rolledBackFrom } = pointer;
  if (rolledBackFrom === undefined) return [];
  const runs: Manifest[] = [];
  for await (const { manifest } of new RunChain(store, { resource, changes: rolledBackFrom.changes })) {
    if (manifest.runId === runId || runs.push(manifest) >= most) break;
  }
  return runs;
}

async function archivedRuns(store: ObjectStore, { resource }: Pointer, most: number): Promise<Manifest[]> {
  const root = rolledBackRoot(resource);
  const folders = await listRuns(store, root, 'changes');
  const newest: RunId[] = [...folders.keys()].sort().reverse().slice(0, most);
  const keys = newest.flatMap((run) => manifestOf(root, 'changes', folders, run) ?? []);
  const found = await Promise.all(keys.map((key) => readManifest(store, key)));
  return found.flatMap((manifest) => manifest ?? []);
}
