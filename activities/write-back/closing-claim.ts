import { log } from '@temporalio/activity';
import type { WritableResource } from '../../src/core/contract/write-back.js';
import { errorMessage } from '../../src/core/errors.js';
import { ObjectNotFoundError, type ObjectStore } from '../../src/lake/store/index.js';
import type { ChunkRow, RowState } from '../../src/write-back/index.js';
import {
  type Claim,
  type ClaimedState,
  claimedState,
  closeClaim,
  readClaim,
  type Turn,
  tidyLedger,
} from '../../src/write-back/ledger/index.js';
import { writeFence } from './end-claim.js';
import type { StoredPlan } from './stored-plans.js';

const STATES: readonly ClaimedState[] = ['unsent', 'written', 'doubtful'];

/** The claim of a batch that has ended, while the outcomes of its rows are collected. */
export class ClosingClaim {
  readonly #store: ObjectStore;
  readonly #resource: WritableResource;
  readonly #claim: Claim;
  /** A byte per row of the plan. */
  readonly #states: Uint8Array;

  private constructor(store: ObjectStore, resource: WritableResource, claim: Claim, rows: number) {
    this.#store = store;
    this.#resource = resource;
    this.#claim = claim;
    this.#states = new Uint8Array(rows);
  }

  /** Call it before the logs of the plan are read. Returns `null` if there is no open claim. @throws StoreError */
  static async begin(
    store: ObjectStore,
    resource: WritableResource,
    { claim: number }: Turn,
    { file }: StoredPlan,
  ): Promise<ClosingClaim | null> {
    if (number === null) return null;
    await writeFence(store, resource, number);
    try {
      const claim = await readClaim(store, resource, number);
      return new ClosingClaim(store, resource, claim, file.rows);
    } catch (error) {
      // An earlier attempt has closed it.
      if (error instanceof ObjectNotFoundError) return null;
      throw error;
    }
  }

  add(row: ChunkRow, state: RowState | undefined): void {
    this.#states[row.row - 1] = STATES.indexOf(claimedState(row, state, false));
  }

  /** Call it when all rows were added. @param at milliseconds since 1970 @throws StoreError */
  async close(at: number): Promise<void> {
    const stateOf = (row: number): ClaimedState => STATES[this.#states[row]!]!;
    await closeClaim(this.#store, this.#resource, this.#claim, at, stateOf);
    try {
      await tidyLedger(this.#store, this.#resource);
    } catch (error) {
      // The next batch tries again.
      log.warn('the record of written rows could not be tidied', { error: errorMessage(error) });
    }
  }
}
