import type { ObjectKey, RunId } from '../core/brands.js';
import { beganAfter } from '../core/run-id.js';
import { sha256Of } from '../lake/documents/checksums.js';
import type { PublishedPart } from '../lake/documents/manifest.js';
import type { Pointer } from '../lake/documents/pointer.js';
import { readChain } from '../lake/published/chain.js';
import { listRuns } from '../lake/published/run-folders.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { ShownState, TableState } from './log/table-state.js';

/** A published state that the table does not show yet. */
export interface PendingState extends ShownState {
  /** Key of the snapshot's manifest. */
  readonly snapshot: ObjectKey;
  readonly operation: 'WRITE' | 'ROLLBACK' | 'PURGE';
  /** The parts of the run's change log; absent: not read. */
  readonly changes?: readonly PublishedPart[];
}

/** The most runs that a catch-up looks back. */
const MAX_RUNS = 1000;

/**
 * The states to commit, oldest first; the last one is the pointer's. Each run that was published since the table's newest
 * version gets a version, as long as its snapshot exists. If the table shows a run that is not on the chain, because
 * `latest.json` was restored from a backup, the run before it comes first.
 */
export async function pendingStates(
  store: ObjectStore,
  pointer: Pointer,
  state: TableState,
): Promise<PendingState[]> {
  const { runId, snapshot, amendedBy = null } = pointer;
  const current = { runId, amendedBy };
  if (state.shows(current)) {
    // A late attempt can commit the state of a purge from parts that the purge replaces. Then it is committed again.
    const found = await store.readIfExists(snapshot);
    if (found === null || state.shows({ ...current, manifest: sha256Of(found.body) })) return [];
  }
  const { shown } = state;
  if (shown?.runId === runId) return [{ ...current, snapshot, operation: operationOf(pointer) }];
  const { missed, changes } = shown === null ? { missed: [] } : await missedRuns(store, pointer, shown.runId);
  const snapshots =
    missed.length === 0 ? new Map<RunId, ObjectKey>() : await listRuns(store, pointer.resource, 'snapshots');
  const earlier = missed.flatMap((run): PendingState[] => {
    const key = snapshots.get(run.runId);
    const operation = shown !== null && !beganAfter(run.runId, shown.runId) ? 'ROLLBACK' : run.operation;
    // A run whose snapshot is no longer kept gets no version.
    return key === undefined ? [] : [{ runId: run.runId, amendedBy: null, snapshot: key, operation }];
  });
  const isBack = shown !== null && !beganAfter(runId, shown.runId);
  const operation = isBack ? 'ROLLBACK' : operationOf(pointer);
  return [...earlier, { ...current, snapshot, operation, ...(changes && { changes }) }];
}

function operationOf({ runId, amendedBy, rolledBack }: Pointer): PendingState['operation'] {
  if (amendedBy !== undefined && amendedBy !== runId) return 'PURGE';
  return rolledBack?.runId === runId ? 'ROLLBACK' : 'WRITE';
}

interface Missed {
  /** Oldest first. */
  readonly missed: readonly Pick<PendingState, 'runId' | 'operation'>[];
  /** The change log of the pointer's run. */
  readonly changes?: readonly PublishedPart[];
}

/** Runs on the chain between the run that the table shows and the pointer's. */
async function missedRuns(store: ObjectStore, pointer: Pointer, shown: RunId): Promise<Missed> {
  const missed: Pick<PendingState, 'runId' | 'operation'>[] = [];
  // The pointer was restored from before the run that the table shows.
  if (!beganAfter(pointer.runId, shown)) return { missed };
  let changes: readonly PublishedPart[] | undefined;
  for await (const { runId, manifest } of readChain(store, pointer)) {
    if (runId === shown || missed.length >= MAX_RUNS) break;
    if (runId === pointer.runId) changes = manifest.parts;
    else missed.push({ runId, operation: manifest.mode === 'rollback' ? 'ROLLBACK' : 'WRITE' });
    // The manifest of a run that the table shows says nothing more.
    if (manifest.previousRunId === shown || !beganAfter(runId, shown)) break;
  }
  return { missed: missed.reverse(), ...(changes && { changes }) };
}
