import type { RunId } from '../../core/brands.js';
import { DamagedError } from '../damaged-error.js';
import { pointerKey } from '../documents/lake-layout.js';
import type { Pointer } from '../documents/pointer.js';
import { readPublishedIds } from '../published/chain.js';
import { listRuns, manifestOf } from '../published/run-folders.js';
import { type ObjectStore, StoreError } from '../store/index.js';
import { type NamedManifest, readNamedManifest, readParts, type TreeOptions } from './one-run.js';
import { isOutage } from './read-body.js';

/** Earlier runs whose snapshots still exist, newest first. */
export interface EarlierRuns {
  /** Completely read without a problem. `worktrack rollback` can roll back to them. */
  readonly intact: readonly RunId[];
  readonly damaged: readonly RunId[];
  /** Not read, because an intact run was found and reading more would take long. */
  readonly unchecked: readonly RunId[];
}

/** After an intact run is found, further runs are read until this many bytes are read in total. */
const MAX_EXTRA_BYTES = 4 * 1024 ** 3;

/** Reads the snapshots of earlier runs, to find an intact one. Called if the published snapshot is damaged. */
export async function verifyEarlierRuns(
  store: ObjectStore,
  pointer: Pointer,
  options: TreeOptions,
): Promise<EarlierRuns> {
  const intact: RunId[] = [];
  const damaged: RunId[] = [];
  const unchecked: RunId[] = [];
  let bytes = 0;
  for (const named of await keptRuns(store, pointer)) {
    if (intact.length > 0 && bytes > MAX_EXTRA_BYTES) {
      unchecked.push(named.runId);
      continue;
    }
    const manifest = await readNamedManifest(store, named);
    const read = await readParts(store, manifest.value, options);
    bytes += read.bytes;
    const isWhole = manifest.problems.length === 0 && read.problems.length === 0;
    (isWhole ? intact : damaged).push(named.runId);
  }
  return { intact, damaged, unchecked };
}

/** Lists the earlier runs, as a rollback does. */
async function keptRuns(store: ObjectStore, pointer: Pointer): Promise<NamedManifest[]> {
  const { resource } = pointer;
  const kept: NamedManifest[] = [];
  try {
    const folders = await listRuns(store, resource, 'snapshots');
    for (const runId of (await readPublishedIds(store, pointer)).runs) {
      const key = manifestOf(resource, 'snapshots', folders, runId);
      if (key === null || runId === pointer.runId) continue;
      kept.push({ key, resource, tree: 'snapshot', runId, namedBy: pointerKey(resource) });
    }
  } catch (error) {
    const isDamage = error instanceof DamagedError || (error instanceof StoreError && !isOutage(error));
    if (!isDamage) throw error;
  }
  return kept;
}
