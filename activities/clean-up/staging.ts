import type { RunRef } from '../../src/core/contract/index.js';
import { beganAfter, isRunId } from '../../src/core/run-id.js';
import { stagingPrefix } from '../../src/lake/published/layout.js';
import { ALL_REMOVED, addRemovals, type ObjectStore, type Removal } from '../../src/lake/store/index.js';
import { removeAll } from '../shared/remove-folders.js';
import { mayBeInProgress } from './unpublished.js';

/**
 * Finds the staging folders of runs that have ended, and aborts the unfinished uploads of such runs. A delayed request may
 * have begun an upload after its run's folder was removed.
 *
 * @returns prefixes of the folders
 */
export async function findUnusedStaging(
  store: ObjectStore,
  ref: RunRef,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const prefix = stagingPrefix(ref.resource);
  const unused: string[] = [];
  const inUse = new Set<string>();
  for (const runId of await store.listFolders(prefix)) {
    signal.throwIfAborted();
    if (!isRunId(runId) || beganAfter(runId, ref.runId)) continue;
    if (await mayBeInProgress(store, ref, runId)) inUse.add(runId);
    else unused.push(`${prefix}${runId}/`);
  }
  await store.abortUploads(prefix, (key) => {
    const [runId = ''] = key.slice(prefix.length).split('/');
    return !signal.aborted && isRunId(runId) && !beganAfter(runId, ref.runId) && !inUse.has(runId);
  });
  return unused;
}

export async function removeStaging(
  store: ObjectStore,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<Removal> {
  let refused = ALL_REMOVED;
  for (const folder of folders) {
    signal.throwIfAborted();
    refused = addRemovals(refused, await removeAll(store, folder, signal));
  }
  return refused;
}
