import { inParallel } from '../../src/core/in-parallel.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { parseTurnKey, planKey, plansPrefix, turnsPrefix } from '../../src/write-back/index.js';
import type { OwnState, RowHashes } from '../../src/write-back/ledger/index.js';
import { readLogIndex, readStates } from './attempt-logs.js';
import type { StoredPlan } from './stored-plans.js';

/** Number of chunks whose logs are read at the same time. */
const WIDTH = 8;

const STATES: readonly OwnState[] = ['open', 'written', 'settled'];

/**
 * The states of a plan's rows in their own batch, from the plan and its logs: a byte per row in memory.
 *
 * @throws DamagedError, StoreError
 */
export async function readOwnStates(
  store: ObjectStore,
  plan: StoredPlan,
  hashes: RowHashes,
): Promise<(row: number) => OwnState> {
  const states = new Uint8Array(hashes.rows);
  for (let row = 0; row < hashes.rows; row++) {
    const planned = hashes.stateOf(row);
    states[row] = planned === 'unsent' ? 0 : STATES.indexOf(planned);
  }
  const logs = await readLogIndex(store, plan.key);
  const starts = chunkStarts(plan);
  await inParallel([...logs.keys()], WIDTH, async (number) => {
    for (const [index, { receipt }] of await readStates(store, plan, number, logs)) {
      if (receipt === null) continue;
      const isWritten = receipt.outcome === 'created' || receipt.outcome === 'updated';
      states[starts[number]! + index] = STATES.indexOf(isWritten ? 'written' : 'settled');
    }
  });
  return (row) => STATES[states[row]!]!;
}

/** The numbers of the claims whose turns are in the folder of a batch: its logs say what became of their rows. */
export async function readOwnClaims(store: ObjectStore, batchId: string): Promise<ReadonlySet<number>> {
  const claims = new Set<number>();
  for (const name of await store.listFolders(plansPrefix(batchId))) {
    const plan = planKey(batchId, name);
    if ((await store.head(plan)) === null) continue;
    for await (const { key } of store.list(turnsPrefix(plan))) {
      const claim = parseTurnKey(key);
      if (claim !== null) claims.add(claim);
    }
  }
  return claims;
}

/** The number of the first row of each chunk, from 0. */
export function chunkStarts({ file }: StoredPlan): readonly number[] {
  let next = 0;
  return file.chunks.map((rows) => {
    next += rows;
    return next - rows;
  });
}
