import type { ObjectKey } from '../../core/brands.js';
import {
  batchCommand,
  shownBatchId,
  type UnknownPolicy,
  type WritableResource,
  type WrittenPolicy,
} from '../../core/contract/write-back.js';
import { SYSTEM_REMEDY } from '../system.js';
import { fenceKey } from './entries.js';
import type { FoundRow } from './look-up.js';
import type { LedgerBatch } from './rows-object.js';

/** How many rows of a file earlier batches have written, or may have written. */
export interface LedgerFindings {
  readonly isKeyed: boolean;
  readonly rows: number;
  readonly written: Found;
  /** Rows whose key was written with other cells. */
  readonly changed: Found;
  /** Rows that may have been written. */
  readonly doubtful: Found;
  /** Rows that were written, or may have been, at an address that is not known to be this system. */
  readonly elsewhere: Found;
}

interface Found {
  readonly count: number;
  /** The number of the first of them in the file, from 1; 0 without one. */
  readonly first: number;
  /** The newest batch that has written one of them. */
  readonly by: LedgerBatch | null;
  /** The batches that have written them. */
  readonly batches: ReadonlySet<string>;
}

/** Counts findings. Rows that the batch itself has written, or may have written, do not count. */
export class FindingCounter {
  readonly #found = { written: nothing(), changed: nothing(), doubtful: nothing(), elsewhere: nothing() };

  add({ row, finding, by }: FoundRow): void {
    if (finding === 'new' || finding === 'own' || by === null) return;
    const found = this.#found[finding];
    if (found.count++ === 0) found.first = row + 1;
    found.batches.add(by.batchId);
    if (found.by === null || by.number > found.by.number) found.by = by;
  }

  result(isKeyed: boolean, rows: number): LedgerFindings {
    return { isKeyed, rows, ...this.#found };
  }
}

function nothing() {
  return { count: 0, first: 0, by: null as LedgerBatch | null, batches: new Set<string>() };
}

/** The policy that applies if none is given: a key says that two rows are the same, equal cells only suggest it. */
export function policyOf(policy: WrittenPolicy | undefined, isKeyed: boolean): WrittenPolicy {
  return policy ?? (isKeyed ? 'skip' : 'stop');
}

/** Why a batch must stop before a row is sent, and what to do, since nothing was sent; `null` if it may continue. Names counts, row numbers and batches, and no values. */
export function problemOf(
  findings: LedgerFindings,
  { policy, baseUrl }: { readonly policy: WrittenPolicy; readonly baseUrl: string },
  when: (at: number) => string,
): { readonly problem: string; readonly remedy: string } | null {
  const { changed, written, doubtful, elsewhere, isKeyed } = findings;
  if (policy === 'again') return null;
  if (elsewhere.count > 0) {
    return {
      problem: `${shareOf(elsewhere.count, findings, isKeyed ? 'key' : 'row')} ${elsewhere.count === 1 ? 'was' : 'were'} sent to ${elsewhere.by!.baseUrl} by ${writerOf(elsewhere, when)}, and baseUrl is now ${baseUrl} (the first is row ${elsewhere.first})`,
      remedy: SYSTEM_REMEDY,
    };
  }
  if (changed.count > 0) {
    return {
      problem: `${shareOf(changed.count, findings, 'row')} ${changed.count === 1 ? 'has a key' : 'have keys'} that ${writerOf(changed, when)} wrote with other cells (the first is row ${changed.first})`,
      remedy:
        'Take these rows out of the file, and change their records in the service; or write the whole file as new records with --again.',
    };
  }
  if (policy === 'skip' || written.count + doubtful.count === 0) return null;
  const problem = (['written', 'doubtful'] as const).map((kind) => foundText(findings, kind, when));
  return {
    problem: problem.filter((text) => text !== null).join('; '),
    remedy: `Use --skip-written to send only the other rows, or --again to write ${isKeyed ? 'these keys' : 'equal rows'} again.`,
  };
}

/** `497 of 500 keys were already written by batch 3b860e3713d2 (3 min ago)`; `null` if there are none. */
export function foundText(
  findings: LedgerFindings,
  kind: 'written' | 'doubtful',
  when: (at: number) => string,
): string | null {
  const found = findings[kind];
  if (found.count === 0) return null;
  const what = shareOf(found.count, findings, findings.isKeyed ? 'key' : 'row');
  const writer = writerOf(found, when);
  return kind === 'written'
    ? `${what} ${found.count === 1 ? 'was' : 'were'} already written by ${writer}`
    : `${what} may have been written by ${writer}, and the outcome is not known`;
}

function shareOf(count: number, { rows }: LedgerFindings, noun: string): string {
  const number = (value: number): string => value.toLocaleString('en-US');
  return `${number(count)} of ${number(rows)} ${noun}s`;
}

function writerOf({ by, batches }: Found, when: (at: number) => string): string {
  const { at, batchId } = by!;
  const batch = `batch ${shownBatchId(batchId)} (${at === null ? 'not ended yet' : when(at)})`;
  return batches.size === 1 ? batch : `${batches.size} batches, the last of them ${batch}`;
}

/** Of a row that `--unknown skip` settles. */
export const NOT_SENT_AGAIN =
  'it is unknown whether the row was written; not sent again because of --unknown skip';

/** Why a row is not sent in this turn. A later turn decides again. */
export interface TurnVerdict {
  readonly outcome: 'skipped' | 'unknown';
  readonly message: string;
}

/** A verdict about any number of rows. */
interface SharedVerdict extends TurnVerdict {
  /** Set if another batch may have written them: the batch that they belong to, and the other one. */
  readonly settle?: { readonly batchId: string; readonly by: string };
}

/**
 * `turns/<token>-<claim>.json`: what the look-up found when the turn of a batch came, and the claim for the rows that it sends.
 */
export interface TurnFile {
  /** The number of the claim in the ledger; `null` if no row is sent. */
  readonly claim: number | null;
  /** The verdicts that `rows` refers to. */
  readonly verdicts: readonly SharedVerdict[];
  /** For each row two bytes (little-endian): 0, or the number of its verdict from 1. Base64; `null` without verdicts. */
  readonly rows: string | null;
  /** Numbers of the plan's chunks that have rows to send. */
  readonly chunks: readonly number[];
}

/** Collects the verdicts of a turn. */
export class TurnVerdicts {
  readonly #rows: Buffer;
  readonly #batchId: string;
  readonly #verdicts: SharedVerdict[] = [];
  readonly #numbers = new Map<string, number>();

  /** @param batchId the batch of the rows */
  constructor(rows: number, batchId: string) {
    this.#rows = Buffer.alloc(2 * rows);
    this.#batchId = batchId;
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
          : `not sent: ${batch} may have written this row, and the outcome is not known${by === null ? LOGS_GONE : ''}`;
      const isOther = outcome === 'unknown' && by !== null;
      const verdict: SharedVerdict = {
        ...{ outcome, message },
        ...(isOther && { settle: { batchId: this.#batchId, by: by.batchId } }),
      };
      // The last number stands for all further batches.
      number = this.#verdicts.length < 0xffff ? this.#verdicts.push(verdict) : 0xffff;
      this.#numbers.set(name, number);
    }
    this.#rows.writeUInt16LE(number, 2 * row);
  }

  file(claim: number | null, chunks: readonly number[]): TurnFile {
    const rows = this.#verdicts.length === 0 ? null : this.#rows.toString('base64');
    return { claim, verdicts: this.#verdicts, rows, chunks };
  }
}

/** What settles a row of the batch itself whose logs are gone. */
const LOGS_GONE =
  '. Look for its record, then run the command of the file again: with --unknown resend to send the row, or with --unknown skip to leave it';

/**
 * What settles a row that another batch may have written. The other batch cannot send it again if a user has settled it there: it
 * stays in doubt, and only a look into the service helps.
 *
 * @param row its number in its own batch
 */
function settles({ batchId, by }: NonNullable<SharedVerdict['settle']>, row: number): string {
  const other = shownBatchId(by);
  const first = batchCommand('resend', by, '--unknown');
  const again = batchCommand('resend', batchId, `--rows ${row} --again`);
  const reject = batchCommand('resend', batchId, `--rows ${row} --reject`);
  return `Settle it first: ${first}; if no row of batch ${other} is unknown, look for the record. If it does not exist: ${again}; if it exists: ${reject}`;
}

/** The turn of a batch: which of its rows are not sent, and the object that ends it. */
export class Turn {
  readonly claim: number | null;
  /** The object that ends the turn; `null` if no row is sent. */
  readonly fence: ObjectKey | null;
  readonly #chunks: ReadonlySet<number> | null;
  readonly #verdicts: readonly SharedVerdict[];
  readonly #rows: Buffer;

  /** @param file `null` for a batch whose rows are not looked up: all rows are sent */
  constructor(resource: WritableResource, file: TurnFile | null) {
    this.claim = file?.claim ?? null;
    this.fence = this.claim === null ? null : fenceKey(resource, this.claim);
    this.#chunks = file && new Set(file.chunks);
    this.#verdicts = file?.verdicts ?? [];
    // The text is not kept: it is larger than the bytes, and there are two of them for each row of the batch.
    this.#rows = Buffer.from(file?.rows ?? '', 'base64');
  }

  /** Why a row is not sent; `null` if it may be. @param row its number in the input, from 1 */
  verdictOf(row: number): TurnVerdict | null {
    const number = this.#rows.length === 0 ? 0 : this.#rows.readUInt16LE(2 * (row - 1));
    if (number === 0) return null;
    const { outcome, message, settle } = this.#verdicts[number - 1]!;
    return { outcome, message: settle === undefined ? message : `${message}. ${settles(settle, row)}` };
  }

  /** Whether a chunk of the plan has rows to send. */
  sends(chunk: number): boolean {
    return this.#chunks === null || this.#chunks.has(chunk);
  }
}
