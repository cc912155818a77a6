import type { WritableResource } from '../../core/contract/write-back.js';
import { inParallel } from '../../core/in-parallel.js';
import { ObjectNotFoundError, type ObjectStore } from '../../lake/store/index.js';
import { type Claim, type ClaimedState, readClaim } from './claim.js';
import { type LedgerListing, listLedger } from './entries.js';
import type { RowHashes } from './row-hashes.js';
import { readRows, recordBytes, type Section } from './rows-object.js';
import { type BatchCounter, RowTally } from './tally.js';

/** Objects that are read at the same time. */
const WIDTH = 16;

/** How often the look-up begins again because objects were replaced meanwhile. */
const MAX_LOOK_UPS = 10;

export interface LookUp {
  readonly listing: LedgerListing;
  readonly tally: RowTally;
}

interface LookUpOptions {
  readonly resource: WritableResource;
  /** The batch of the rows: its own entries are counted apart. */
  readonly batchId: string;
  /** Numbers of the batch's own entries whose logs exist; `null`: all of them. */
  readonly ownClaims: ReadonlySet<number> | null;
  /**
   * The states of a claim whose batch has not closed it. Not called for claims that have no row of the file. `null`: begin
   * again, because the claim was closed.
   */
  readonly stateOf: (claim: Claim) => Promise<((row: number) => ClaimedState) | null>;
  readonly signal: AbortSignal | null;
}

/**
 * Counts how often the batches of a resource have written the rows of one file. It reads the ledger once, with a few of its
 * records in memory.
 *
 * @throws DamagedError, StoreError
 */
export async function lookUpRows(
  store: ObjectStore,
  rows: RowHashes,
  options: LookUpOptions,
): Promise<LookUp> {
  for (let lookUp = 1; ; lookUp++) {
    options.signal?.throwIfAborted();
    const listing = await listLedger(store, options.resource);
    const tally = new RowTally(rows, options.batchId, options.ownClaims);
    try {
      if (await countAll(store, listing, tally, options)) return { listing, tally };
    } catch (error) {
      // An object was replaced after it was listed.
      if (!(error instanceof ObjectNotFoundError) || lookUp >= MAX_LOOK_UPS) throw error;
    }
  }
}

async function countAll(
  store: ObjectStore,
  { entries }: LedgerListing,
  tally: RowTally,
  options: LookUpOptions,
): Promise<boolean> {
  const counted = await inParallel(entries, WIDTH, async ({ kind, key, last }) => {
    options.signal?.throwIfAborted();
    if (kind === 'claim') return countClaim(await readClaim(store, options.resource, last), tally, options);
    let current: { readonly section: Section; readonly count: BatchCounter } | null = null;
    await readRows(store, key, last, (section, change, records) => {
      if (current?.section !== section) current = { section, count: tally.batch(section) };
      const size = recordBytes(section.isKeyed);
      for (let at = 0; at < records.length; at += size) current.count(change, records, at, section.isKeyed);
    });
    return true;
  });
  return counted.every((isCounted) => isCounted);
}

async function countClaim(claim: Claim, tally: RowTally, { stateOf }: LookUpOptions): Promise<boolean> {
  const { records, isKeyed, batchId, number } = claim;
  let state: ((row: number) => ClaimedState) | null = null;
  const count = tally.batch({ number, batchId, at: null });
  for (let index = 0; index < records.rows; index++) {
    const hashes = records.hashesAt(index);
    if (!tally.has(hashes, 0, isKeyed)) continue;
    state ??= await stateOf(claim);
    if (state === null) return false;
    const { row, wasDoubtful } = records.rowAt(index);
    const is = state(row);
    if (is === 'written') count(wasDoubtful ? 'confirmed' : 'created', hashes, 0, isKeyed);
    else if (is === 'doubtful' && !wasDoubtful) count('doubtful', hashes, 0, isKeyed);
    else if (is === 'unsent' && wasDoubtful) count('cleared', hashes, 0, isKeyed);
  }
  return true;
}
