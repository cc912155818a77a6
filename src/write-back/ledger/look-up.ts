import type { WritableResource } from '../../core/contract/write-back.js';
import { inParallel } from '../../core/in-parallel.js';
import { ObjectNotFoundError, type ObjectStore } from '../../lake/store/index.js';
import { HashTable } from '../hash-table.js';
import type { TargetSystem } from '../system.js';
import { type Claim, type ClaimedState, countChange, readClaim } from './claim.js';
import { type LedgerListing, listLedger } from './entries.js';
import type { RowHashes } from './row-hashes.js';
import {
  type Change,
  type LedgerBatch,
  ROW_HASH_BYTES,
  readLedgerRows,
  recordBytes,
  type Section,
} from './rows-object.js';

const WIDTH = 16;

/** How often the look-up begins again because objects were replaced meanwhile. */
const MAX_LOOK_UPS = 10;

type TallyOptions = Pick<LookUpOptions, 'batchId' | 'ownClaims' | 'system'>;

interface LookUpOptions {
  readonly resource: WritableResource;
  /** The batch of the rows: its own entries are counted apart. */
  readonly batchId: string;
  /** Numbers of the batch's own entries whose logs exist; `null`: all of them. */
  readonly ownClaims: ReadonlySet<number> | null;
  /** Where the rows are to be sent. */
  readonly system: TargetSystem;
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
): Promise<{ readonly listing: LedgerListing; readonly tally: RowTally }> {
  for (let lookUp = 1; ; lookUp++) {
    options.signal?.throwIfAborted();
    const listing = await listLedger(store, options.resource);
    const tally = new RowTally(rows, options);
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
    let counted: Section | null = null;
    let count: CountRecord = () => {};
    for await (const { section, records } of readLedgerRows(store, key)) {
      if (section !== counted) count = tally.counter(section);
      counted = section;
      const size = recordBytes(section.isKeyed);
      for (let at = 0; at < records.length; at += size) count(section.change, records, at);
    }
    return true;
  });
  return counted.every((isCounted) => isCounted);
}

async function countClaim(claim: Claim, tally: RowTally, { stateOf }: LookUpOptions): Promise<boolean> {
  const { records, number, batchId, isKeyed, baseUrl } = claim;
  let state: ((row: number) => ClaimedState) | null = null;
  // Kept until the end of the look-up, so without the records.
  const count = tally.counter({ number, batchId, baseUrl, isKeyed, at: null });
  for (let index = 0; index < records.rows; index++) {
    const hashes = records.hashesAt(index);
    if (!tally.has(hashes, isKeyed)) continue;
    state ??= await stateOf(claim);
    if (state === null) return false;
    const { row, wasDoubtful } = records.rowAt(index);
    const change = countChange(state(row), wasDoubtful);
    if (change !== null) count(change, hashes, 0);
  }
  return true;
}

/**
 * What the ledger says about a row that is to be sent. `own`: an earlier run of the same batch has written it. `doubtful`
 * without a batch: an earlier run of the same batch may have written it, and its logs are gone. `elsewhere`: it was written, or
 * may have been, at an address that is not known to be this system.
 */
type Finding = 'new' | 'written' | 'changed' | 'doubtful' | 'own' | 'elsewhere';

export interface FoundRow {
  /** From 0. */
  readonly row: number;
  readonly finding: Finding;
  /** A batch that has written the row, or may have; the newest one. `null` for a new row. */
  readonly by: LedgerBatch | null;
  /** Whether the ledger counts the row as doubtful in its own batch, whose logs say when it was sent. */
  readonly wasDoubtful: boolean;
}

/**
 * Counts how often earlier batches have written the rows of one file. With keys, a row is found by its key; otherwise by
 * its cells, and equal rows are counted (multisets). A row with a key is also found by its cells among rows that were written
 * without keys. Needs about 50 bytes of memory per row of the file, twice as much if there are such rows, and none per row of
 * the ledger.
 */
class RowTally {
  readonly #rows: RowHashes;
  readonly #isKeyed: boolean;
  readonly #options: TallyOptions;
  /** By identity: the first row with it, from 1. */
  readonly #first: HashTable;
  /** By first row, as all of the following: copies that other batches have written. */
  readonly #written: Counts;
  /** The newest batch that has written it, or may have: an index of `#batches`, from 1. */
  readonly #by: Uint32Array;
  /** With keys: whether a copy with the same cells was written. */
  readonly #same: Uint8Array;
  readonly #doubtful: Counts;
  readonly #ownWritten: Counts;
  readonly #ownDoubtful: Counts;
  /** As `#ownDoubtful`, for entries whose logs are gone. */
  readonly #ownForgotten: Counts;
  /** Copies at addresses that are not known, and the newest batch that has sent one there. */
  readonly #elsewhere: Counts;
  #elsewhereBy: LedgerBatch | null = null;
  /** With keys: what batches without keys have written; `null` as long as there is none. */
  #plain: RowTally | null = null;
  readonly #batches: LedgerBatch[] = [];

  /** @param isKeyed whether rows are found by their keys */
  constructor(rows: RowHashes, options: TallyOptions, isKeyed = rows.isKeyed) {
    this.#rows = rows;
    this.#isKeyed = isKeyed;
    this.#options = options;
    this.#first = HashTable.sized(1, rows.rows);
    this.#written = new Counts(rows.rows);
    this.#by = new Uint32Array(rows.rows);
    this.#same = new Uint8Array(isKeyed ? rows.rows : 0);
    this.#doubtful = new Counts(rows.rows);
    this.#ownWritten = new Counts(rows.rows);
    this.#ownDoubtful = new Counts(rows.rows);
    this.#ownForgotten = new Counts(rows.rows);
    this.#elsewhere = new Counts(rows.rows);
    for (let row = 0; row < rows.rows; row++) {
      if (rows.stateOf(row) === 'unsent') continue;
      const entry = this.#first.entry(rows.blockOf(row), this.#identityAt(row));
      if (this.#first.get(entry) === 0) this.#first.set(entry, 0, row + 1);
    }
  }

  /** Returns what counts the records of a batch. */
  counter(batch: LedgerBatch & Pick<Section, 'isKeyed'>): CountRecord {
    const { batchId, number, isKeyed } = batch;
    if (this.#isKeyed && !isKeyed) return this.#byCells().counter(batch);
    const place = this.#options.system.placeOf(batch.baseUrl);
    if (place === 'elsewhere') return () => {};
    if (place === 'open') return this.#counterElsewhere(batch);
    const isOwn = batchId === this.#options.batchId;
    const index = isOwn ? 0 : this.#batches.push(batch);
    const written = isOwn ? this.#ownWritten : this.#written;
    const { ownClaims } = this.#options;
    const isKnown = ownClaims === null || ownClaims.has(number);
    const ownDoubtful = isKnown ? this.#ownDoubtful : this.#ownForgotten;
    const doubtful = isOwn ? ownDoubtful : this.#doubtful;
    return (change, bytes, at) => {
      const first = this.#find(bytes, at, isKeyed);
      if (first === -1) return;
      const isWritten = change === 'created' || change === 'confirmed';
      if (isWritten) written.add(first, 1);
      if (change === 'doubtful') doubtful.add(first, 1);
      else if (change !== 'created') doubtful.add(first, -1);
      if (isOwn) return;
      if (isWritten && this.#isKeyed && this.#hasSameCells(first, bytes, at + ROW_HASH_BYTES))
        this.#same[first] = 1;
      if (change === 'cleared') return;
      const newest = this.#batches[this.#by[first]! - 1];
      if (newest === undefined || newest.number <= number) this.#by[first] = index;
    };
  }

  #counterElsewhere(batch: LedgerBatch & Pick<Section, 'isKeyed'>): CountRecord {
    return (change, bytes, at) => {
      const first = this.#find(bytes, at, batch.isKeyed);
      // It is counted since it was in doubt.
      if (first === -1 || change === 'confirmed') return;
      this.#elsewhere.add(first, change === 'cleared' ? -1 : 1);
      if ((this.#elsewhereBy?.number ?? 0) <= batch.number) this.#elsewhereBy = batch;
    };
  }

  /** Whether the file has the row of a record. */
  has(record: Buffer, isKeyed: boolean): boolean {
    if (this.#isKeyed && !isKeyed) return this.#byCells().has(record, isKeyed);
    return this.#find(record, 0, isKeyed) !== -1;
  }

  /**
   * What was found about each row that is to be sent, and about each one that is left, in the order of the file; and the rows that
   * the ledger counts as doubtful. Call it once, at the end.
   */
  *find(): Generator<FoundRow> {
    const doubtful = this.#doubtfulRows();
    for (let row = 0; row < this.#rows.rows; row++) {
      const state = this.#rows.stateOf(row);
      const wasDoubtful = doubtful.has(row);
      if (state === 'open' || state === 'left')
        yield { row, ...this.#findingOf(row, this.#firstOf(row)), wasDoubtful };
      else if (wasDoubtful) yield { row, finding: 'own', by: null, wasDoubtful };
    }
  }

  /**
   * The rows that the ledger counts as doubtful in their own batch. It does not know which of several equal rows it counts, so those
   * come first that may have been written: their doubt must not end with the outcome of another one.
   */
  #doubtfulRows(): ReadonlySet<number> {
    const found = new Set<number>();
    // Written rows first, so that a copy without an outcome does not count as the one that was written.
    for (const state of ['written', 'doubtful', 'open', 'settled'] as const) {
      for (let row = 0; row < this.#rows.rows; row++) {
        if (this.#rows.stateOf(row) !== state) continue;
        const first = this.#firstOf(row);
        if (state === 'written' && this.#ownWritten.take(first)) continue;
        // The receipt of a written or a rejected row arrived after the entry of the ledger was closed.
        if (this.#ownDoubtful.take(first)) found.add(row);
      }
    }
    return found;
  }

  #findingOf(row: number, first: number): Pick<FoundRow, 'finding' | 'by'> {
    const finding = this.#judge(row, first);
    if (finding === 'new' && this.#plain !== null)
      return this.#plain.#findingOf(row, this.#plain.#firstOf(row));
    if (finding === 'elsewhere') return { finding, by: this.#elsewhereBy };
    const by = finding === 'new' || finding === 'own' ? null : (this.#batches[this.#by[first]! - 1] ?? null);
    return { finding, by };
  }

  /** Counts what batches without keys have written. */
  #byCells(): RowTally {
    this.#plain ??= new RowTally(this.#rows, this.#options, false);
    return this.#plain;
  }

  #judge(row: number, first: number): Finding {
    if (this.#ownWritten.take(first)) return 'own';
    if (this.#isKeyed && this.#written.get(first) > 0) return this.#same[row] === 1 ? 'written' : 'changed';
    if (this.#written.take(first)) return 'written';
    if (this.#doubtful.take(first) || this.#ownForgotten.take(first)) return 'doubtful';
    const isElsewhere = this.#isKeyed ? this.#elsewhere.get(first) > 0 : this.#elsewhere.take(first);
    return isElsewhere ? 'elsewhere' : 'new';
  }

  /** The first row with the identity of a record; -1 without one. */
  #find(bytes: Buffer, at: number, isKeyed: boolean): number {
    const identity = this.#isKeyed || !isKeyed ? at : at + ROW_HASH_BYTES;
    const entry = this.#first.find(bytes, identity);
    return entry === -1 ? -1 : this.#first.get(entry) - 1;
  }

  #identityAt(row: number): number {
    return this.#isKeyed ? this.#rows.identityAt(row) : this.#rows.cellsAt(row);
  }

  #firstOf(row: number): number {
    const entry = this.#first.find(this.#rows.blockOf(row), this.#identityAt(row));
    return this.#first.get(entry) - 1;
  }

  #hasSameCells(row: number, bytes: Buffer, at: number): boolean {
    const cells = this.#rows.cellsAt(row);
    return (
      bytes.compare(this.#rows.blockOf(row), cells, cells + ROW_HASH_BYTES, at, at + ROW_HASH_BYTES) === 0
    );
  }
}

/**
 * Counts one record of a batch: the hash of its key, if the batch had a key column, and the hash of its cells.
 *
 * @param at where the record begins in the bytes
 */
type CountRecord = (change: Change, bytes: Buffer, at: number) => void;

/** Numbers by row that are mostly 0: they take memory only once one of them is not. */
class Counts {
  readonly #rows: number;
  #counts: Int32Array | null = null;

  constructor(rows: number) {
    this.#rows = rows;
  }

  get(row: number): number {
    return this.#counts?.[row] ?? 0;
  }

  add(row: number, change: number): void {
    this.#counts ??= new Int32Array(this.#rows);
    this.#counts[row]! += change;
  }

  /** Takes one away, if there is one. */
  take(row: number): boolean {
    if (this.get(row) <= 0) return false;
    this.add(row, -1);
    return true;
  }
}
