import type { WritableResource } from '../../src/core/contract/write-back.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { DamagedError } from '../../src/lake/damaged-error.js';
import { ObjectNotFoundError, type ObjectStore } from '../../src/lake/store/index.js';
import {
  type Claim,
  type ClaimedState,
  claimedState,
  closeClaim,
  fenceKey,
} from '../../src/write-back/ledger/index.js';
import { loadChunk, readLogIndex } from './attempt-logs.js';
import { chunkStarts } from './own-states.js';
import { readPlan } from './stored-plans.js';

/** Number of chunks that are read at the same time. */
const WIDTH = 8;

/**
 * Ends a claim for whoever sends its rows. A sender writes the log of a chunk, then looks for the fence, and then sends the
 * chunk. So after the fence is written, the logs name every row that may have been sent.
 */
export async function writeFence(
  store: ObjectStore,
  resource: WritableResource,
  claim: number,
): Promise<void> {
  await store.write(fenceKey(resource, claim), Buffer.from('{}'), { contentType: 'application/json' });
}

/** Ends and closes a claim whose batch no longer runs. @param at milliseconds since 1970 @throws StoreError */
export async function endClaim(
  store: ObjectStore,
  resource: WritableResource,
  claim: Claim,
  at: number,
): Promise<void> {
  await writeFence(store, resource, claim.number);
  await closeClaim(store, resource, claim, at, await readClaimedStates(store, claim, 'ended'));
}

const CLAIMED: readonly ClaimedState[] = ['doubtful', 'written', 'unsent'];

/**
 * The states of a claim's rows, from the plan and the logs of its batch. If these are missing or damaged, every row may have
 * been written.
 *
 * @param batch `running`: every row without an outcome may still be sent
 * @throws StoreError
 */
export async function readClaimedStates(
  store: ObjectStore,
  { plan: key, records }: Claim,
  batch: 'running' | 'ended',
): Promise<(row: number) => ClaimedState> {
  try {
    const plan = await readPlan(store, key);
    const starts = chunkStarts(plan);
    const logs = await readLogIndex(store, key);
    const states = new Uint8Array(plan.file.rows);
    const chunks = new Set<number>();
    let chunk = 0;
    for (let index = 0; index < records.rows; index++) {
      const { row } = records.rowAt(index);
      while ((starts[chunk + 1] ?? Number.POSITIVE_INFINITY) <= row) chunk++;
      chunks.add(chunk);
    }
    await inParallel([...chunks], WIDTH, async (number) => {
      const loaded = await loadChunk(store, plan, number, logs);
      for (const [index, row] of loaded.rows.entries()) {
        const state = claimedState(row, loaded.states.get(index), batch === 'running');
        states[starts[number]! + index] = CLAIMED.indexOf(state);
      }
    });
    return (row) => CLAIMED[states[row]!]!;
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError || error instanceof DamagedError)) throw error;
    return () => 'doubtful';
  }
}
