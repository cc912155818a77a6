import type { ObjectKey } from '../../core/brands.js';
import { shownBatchId, type UnknownPolicy, type WritableResource } from '../../core/contract/write-back.js';
import { fenceKey } from './entries.js';
import type { FoundRow } from './tally.js';

/** Of a row that `--unknown skip` settles. */
export const NOT_SENT_AGAIN =
  'it is unknown whether the row was written; not sent again because of --unknown skip';

/** Why a row is not sent in this turn. A later turn decides again. */
export interface TurnVerdict {
  readonly outcome: 'skipped' | 'unknown';
  readonly message: string;
}

/**
 * `turns/<token>-<claim>.json`: what the look-up found when the turn of a batch came, and the claim for the rows that it sends.
 */
export interface TurnFile {
  /** The number of the claim in the ledger; `null` if no row is sent. */
  readonly claim: number | null;
  /** The verdicts that `rows` refers to. */
  readonly verdicts: readonly TurnVerdict[];
  /** For each row two bytes (little-endian): 0, or the number of its verdict from 1. Base64; `null` without verdicts. */
  readonly rows: string | null;
  /** Numbers of the plan's chunks that have rows to send. */
  readonly chunks: readonly number[];
}

/** Collects the verdicts of a turn. */
export class TurnVerdicts {
  readonly #rows: Buffer;
  readonly #verdicts: TurnVerdict[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(rows: number) {
    this.#rows = Buffer.alloc(2 * rows);
  }

  /**
   * Adds a row that is not sent.
   *
   * @param unknown `skip`: a row that the batch itself may have written is settled as skipped
   */
  add({ row, finding, by }: FoundRow, unknown: UnknownPolicy): void {
    const isGivenUp = finding === 'doubtful' && by === null && unknown === 'skip';
    const outcome = finding === 'doubtful' && !isGivenUp ? 'unknown' : 'skipped';
    const batch = by === null ? 'an earlier run of this batch' : `batch ${shownBatchId(by.batchId)}`;
    const name = `${outcome} ${isGivenUp} ${batch}`;
    let number = this.#numbers.get(name);
    if (number === undefined) {
      const message = isGivenUp
        ? NOT_SENT_AGAIN
        : outcome === 'skipped'
          ? `already written by ${batch}`
          : `not sent: ${batch} may have written this row, and the outcome is not known`;
      // The last number stands for all further batches.
      number = this.#verdicts.length < 0xffff ? this.#verdicts.push({ outcome, message }) : 0xffff;
      this.#numbers.set(name, number);
    }
    this.#rows.writeUInt16LE(number, 2 * row);
  }

  file(claim: number | null, chunks: readonly number[]): TurnFile {
    const rows = this.#verdicts.length === 0 ? null : this.#rows.toString('base64');
    return { claim, verdicts: this.#verdicts, rows, chunks };
  }
}

/** The turn of a batch: which of its rows are not sent, and the object that ends it. */
export class Turn {
  readonly claim: number | null;
  /** The object that ends the turn; `null` if no row is sent. */
  readonly fence: ObjectKey | null;
  readonly #chunks: ReadonlySet<number> | null;
  readonly #verdicts: readonly TurnVerdict[];
  readonly #rows: Buffer | null;

  /** @param file `null` for a batch whose rows are not looked up: all rows are sent */
  constructor(resource: WritableResource, file: TurnFile | null) {
    this.claim = file?.claim ?? null;
    this.fence = this.claim === null ? null : fenceKey(resource, this.claim);
    this.#chunks = file === null ? null : new Set(file.chunks);
    this.#verdicts = file?.verdicts ?? [];
    const rows = file?.rows ?? null;
    this.#rows = rows === null ? null : Buffer.from(rows, 'base64');
  }

  /** Why a row is not sent; `null` if it may be. @param row its number in the input, from 1 */
  verdictOf(row: number): TurnVerdict | null {
    const number = this.#rows?.readUInt16LE(2 * (row - 1)) ?? 0;
    return number === 0 ? null : this.#verdicts[number - 1]!;
  }

  /** Whether a chunk of the plan has rows to send. */
  sends(chunk: number): boolean {
    return this.#chunks === null || this.#chunks.has(chunk);
  }
}
