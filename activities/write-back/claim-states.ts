import type { EpochMs } from '../../src/core/brands.js';
import type { WritableResource } from '../../src/core/contract/write-back.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { DamagedError } from '../../src/lake/damaged-error.js';
import { nullIfNotFound, ObjectNotFoundError, type ObjectStore } from '../../src/lake/store/index.js';
import { parseTurnKey, planKeys } from '../../src/write-back/batch-layout.js';
import { readLogIndex, readStates } from '../../src/write-back/chunk-logs.js';
import {
  type Claim,
  type ClaimedState,
  claimedState,
  closeClaim,
  readClaim,
} from '../../src/write-back/ledger/claim.js';
import { fenceKey } from '../../src/write-back/ledger/entries.js';
import { type RowHashes, settledState } from '../../src/write-back/ledger/row-hashes.js';
import type { Turn } from '../../src/write-back/ledger/turn.js';
import { loadChunk, readPlan, readStoredPlans, type StoredPlan } from './stored-batch.js';

const WIDTH = 8;

const CLAIMED: readonly ClaimedState[] = ['doubtful', 'written', 'unsent'];

/**
 * What became of each row of a plan, by its number from 0, as far as a claim is concerned: a byte per row in memory. A row that
 * was not set is `doubtful`.
 */
export function claimedStates(rows: number) {
  const states = new Uint8Array(rows);
  return {
    set(row: number, state: ClaimedState): void {
      states[row] = CLAIMED.indexOf(state);
    },
    of: (row: number): ClaimedState => CLAIMED[states[row]!]!,
  };
}

/**
 * Notes the states of a plan's rows in their own batch, from the logs of the plan.
 *
 * @throws DamagedError, StoreError
 */
export async function readOwnStates(store: ObjectStore, plan: StoredPlan, hashes: RowHashes): Promise<void> {
  const logs = await readLogIndex(store, plan.key);
  const starts = chunkStarts(plan);
  await inParallel([...logs.keys()], WIDTH, async (number) => {
    for (const [index, { receipt }] of await readStates(store, plan, number, logs)) {
      const row = starts[number]! + index;
      // A row that the plan does not send has no log.
      if (receipt !== null && hashes.stateOf(row) !== 'unsent') hashes.setState(row, settledState(receipt));
    }
  });
}

/** The numbers of the claims whose turns are in the folder of a batch: its logs say what became of their rows. */
export async function readOwnClaims(store: ObjectStore, batchId: string): Promise<ReadonlySet<number>> {
  const claims = new Set<number>();
  for (const plan of await readStoredPlans(store, batchId)) {
    for await (const { key } of store.list(planKeys(plan.key).turns)) {
      const claim = parseTurnKey(key);
      if (claim !== null) claims.add(claim);
    }
  }
  return claims;
}

/** The number of the first row of each chunk, from 0. */
function chunkStarts({ file }: StoredPlan): readonly number[] {
  let next = 0;
  return file.chunks.map((rows) => {
    next += rows;
    return next - rows;
  });
}

/** Collects the chunks of rows that come in their order. */
export function chunksOfRows(plan: StoredPlan) {
  const starts = chunkStarts(plan);
  const numbers: number[] = [];
  let chunk = 0;
  const add = (row: number): void => {
    while ((starts[chunk + 1] ?? Number.POSITIVE_INFINITY) <= row) chunk++;
    if (numbers.at(-1) !== chunk) numbers.push(chunk);
  };
  return { numbers, add };
}

/**
 * Ends a claim for whoever sends its rows. A sender writes the log of a chunk, then looks for the fence, and then sends the
 * chunk. So after the fence is written, the logs name every row that may have been sent.
 */
async function writeFence(store: ObjectStore, resource: WritableResource, claim: number): Promise<void> {
  await store.write(fenceKey(resource, claim), Buffer.from('{}'));
}

/** Ends and closes a claim whose batch no longer runs. @throws StoreError */
export async function endClaim(
  store: ObjectStore,
  resource: WritableResource,
  claim: Claim,
  at: EpochMs,
): Promise<void> {
  await writeFence(store, resource, claim.number);
  await closeClaim(store, resource, claim, at, await readClaimedStates(store, claim, 'ended'));
}

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
    const states = claimedStates(plan.file.rows);
    const chunks = chunksOfRows(plan);
    for (let index = 0; index < records.rows; index++) chunks.add(records.rowAt(index).row);
    await inParallel(chunks.numbers, WIDTH, async (number) => {
      const loaded = await loadChunk(store, plan, number, logs);
      for (const [index, row] of loaded.rows.entries()) {
        const state = claimedState(row, loaded.states.get(index), batch === 'running');
        states.set(starts[number]! + index, state);
      }
    });
    return states.of;
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError || error instanceof DamagedError)) throw error;
    return () => 'doubtful';
  }
}

/**
 * Ends the claim of a batch for whoever sends its rows. Call it before the logs of the plan are read.
 *
 * @returns the claim to close; `null` if there is no open claim
 * @throws StoreError
 */
export async function fenceClaim(
  store: ObjectStore,
  resource: WritableResource,
  { claim }: Turn,
): Promise<Claim | null> {
  if (claim === null) return null;
  await writeFence(store, resource, claim);
  // If it is gone, an earlier attempt has closed it.
  return readClaim(store, resource, claim).catch(nullIfNotFound);
}
