import type { EpochMs, ObjectKey } from '../../core/brands.js';
import type { WritableResource } from '../../core/contract/write-back.js';
import { writeIfUnchanged } from '../../lake/published/swap.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { type ChunkRow, isAnswered, isWritten, knownOf, type RowState } from '../plan-file.js';
import { claimKey, type LedgerListing, listLedger, rowsKey } from './entries.js';
import type { RowHashes } from './row-hashes.js';
import {
  CHANGES,
  type Change,
  decodeObject,
  encodeHeader,
  encodeSections,
  recordBytes,
  type Section,
  withCrc,
} from './rows-object.js';

/** The intent of a batch to send rows. It is in the ledger before the first of them is sent. */
export interface Claim extends ClaimInfo {
  readonly number: number;
  readonly records: ClaimRecords;
}

interface ClaimInfo {
  /** Identifies the turn of the batch, so that a repeated attempt finds its own claim. */
  readonly token: string;
  readonly batchId: string;
  /** The workflow that sends the rows, and its namespace. */
  readonly workflowId: string;
  readonly namespace: string;
  /** The plan and the turn that the rows belong to. */
  readonly plan: ObjectKey;
  readonly turn: ObjectKey;
  readonly isKeyed: boolean;
  /** Where its rows are sent. */
  readonly baseUrl: string;
}

/** A record: the row's number from 0, with the highest bit set if the ledger counts the row as doubtful; its hashes. */
const DOUBTFUL = 0x8000_0000;

export class ClaimRecords {
  readonly isKeyed: boolean;
  readonly #bytes: number;
  readonly #buffer: Buffer;
  #rows = 0;

  constructor(isKeyed: boolean, encoded: Buffer) {
    this.isKeyed = isKeyed;
    this.#bytes = 4 + recordBytes(isKeyed);
    this.#buffer = encoded;
    this.#rows = encoded.length / this.#bytes;
  }

  /** Empty records with room for `rows`. */
  static sized(isKeyed: boolean, rows: number): ClaimRecords {
    const records = new ClaimRecords(isKeyed, Buffer.allocUnsafe(rows * (4 + recordBytes(isKeyed))));
    records.#rows = 0;
    return records;
  }

  get rows(): number {
    return this.#rows;
  }

  add(hashes: RowHashes, row: number, wasDoubtful: boolean): void {
    const at = this.#rows++ * this.#bytes;
    this.#buffer.writeUInt32LE((row | (wasDoubtful ? DOUBTFUL : 0)) >>> 0, at);
    const from = hashes.identityAt(row);
    hashes.blockOf(row).copy(this.#buffer, at + 4, from, from + recordBytes(this.isKeyed));
  }

  rowAt(index: number): { row: number; wasDoubtful: boolean } {
    const word = this.#buffer.readUInt32LE(index * this.#bytes);
    return { row: (word & ~DOUBTFUL) >>> 0, wasDoubtful: (word & DOUBTFUL) !== 0 };
  }

  hashesAt(index: number): Buffer {
    return this.#buffer.subarray(index * this.#bytes + 4, (index + 1) * this.#bytes);
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#rows * this.#bytes);
  }
}

/** @throws DamagedError; ObjectNotFoundError if the claim was closed */
export async function readClaim(
  store: ObjectStore,
  resource: WritableResource,
  number: number,
): Promise<Claim> {
  const key = claimKey(resource, number);
  const { header, records } = decodeObject<ClaimInfo>(key, await store.read(key));
  return { ...header, number, records: new ClaimRecords(header.isKeyed, records) };
}

/**
 * Adds a claim to the ledger as its next entry. Of concurrent calls, one succeeds.
 *
 * @param listing the ledger as it was looked up
 * @returns the claim's number; `null` if another entry was added first, so that the look-up must be repeated
 */
export async function addClaim(
  store: ObjectStore,
  resource: WritableResource,
  { next }: LedgerListing,
  info: ClaimInfo,
  records: ClaimRecords,
): Promise<number | null> {
  const key = claimKey(resource, next);
  const body = withCrc([encodeHeader(info), records.bytes()]);
  if ((await writeIfUnchanged(store, key, body, 'absent')) === 'conflict') return null;
  // The number may have been used and merged since the ledger was listed. Then the claim does not count.
  const { entries } = await listLedger(store, resource);
  return entries.some((entry) => entry.key === key) ? next : null;
}

/** What became of a claimed row. `unsent` also stands for rejected. */
export type ClaimedState = 'written' | 'doubtful' | 'unsent';

/**
 * What became of a claimed row, as far as its plan and logs show.
 *
 * @param mayBeSent whether the batch may still send the row
 */
export function claimedState(
  row: Pick<ChunkRow, 'receipt' | 'sentAt'>,
  state: RowState | undefined,
  mayBeSent: boolean,
): ClaimedState {
  const { receipt, sentAt } = knownOf(row, state);
  if (isWritten(receipt)) return 'written';
  // A user who settles a row in doubt, with `--reject` or `--unknown skip`, only ends the search for its outcome.
  if (receipt !== null) return isAnswered(receipt) ? 'unsent' : 'doubtful';
  return mayBeSent || sentAt !== null ? 'doubtful' : 'unsent';
}

/**
 * Replaces a claim by what became of its rows; `tidyLedger` removes it. Whoever closes a claim first decides; before it
 * reads the states, it must write the fence.
 */
export async function closeClaim(
  store: ObjectStore,
  resource: WritableResource,
  claim: Claim,
  at: EpochMs,
  stateOf: (row: number) => ClaimedState,
): Promise<void> {
  const { number, batchId, isKeyed, baseUrl, records } = claim;
  const size = recordBytes(isKeyed);
  const body = Buffer.allocUnsafe(records.rows * size);
  let end = 0;
  const sections = CHANGES.flatMap((change): Section[] => {
    const begin = end;
    for (let index = 0; index < records.rows; index++) {
      const { row, wasDoubtful } = records.rowAt(index);
      if (countChange(stateOf(row), wasDoubtful) !== change) continue;
      body.set(records.hashesAt(index), end);
      end += size;
    }
    const rows = (end - begin) / size;
    return rows === 0 ? [] : [{ number, batchId, baseUrl, at, isKeyed, change, rows }];
  });
  const object = withCrc([encodeSections(sections), body.subarray(0, end)]);
  await writeIfUnchanged(store, rowsKey(resource, number, 1), object, 'absent');
}

/** How the counts of the ledger change; `null`: they do not. */
export function countChange(state: ClaimedState, wasDoubtful: boolean): Change | null {
  if (state === 'written') return wasDoubtful ? 'confirmed' : 'created';
  if (state === 'doubtful') return wasDoubtful ? null : 'doubtful';
  return wasDoubtful ? 'cleared' : null;
}
