import type { SentBefore } from '../../src/api/index.js';
import type { EpochMs, ObjectKey } from '../../src/core/brands.js';
import type { SendRowsInput } from '../../src/core/contract/write-back.js';
import type { RunClocks } from '../../src/lake/documents/run-file.js';
import {
  type Expected,
  type ObjectStore,
  StoreError,
  StoreUnclearError,
} from '../../src/lake/store/index.js';
import type { ActivityDeps, OpenConnection } from '../../src/run/deps.js';
import { planKeys } from '../../src/write-back/batch-layout.js';
import type { LogIndex } from '../../src/write-back/chunk-logs.js';
import type { Turn } from '../../src/write-back/ledger/turn.js';
import {
  type ChunkLog,
  type ChunkRow,
  isPending,
  isWritten,
  type LoggedRow,
  loggedReceipt,
  type RepeatedFailure,
  type RowReceipt,
  type Said,
  type SendingRules,
} from '../../src/write-back/plan-file.js';
import { encodeSealed } from '../../src/write-back/sealed.js';
import type { SendClock } from './send-clock.js';
import type { LoadedChunk, StoredPlan } from './stored-batch.js';

export interface SendAttemptOptions {
  readonly deps: ActivityDeps;
  readonly connection: OpenConnection;
  readonly input: SendRowsInput;
  readonly plan: StoredPlan;
  readonly sending: SendingRules;
  readonly logs: LogIndex;
  readonly turn: Turn;
  /** Makes the log names of this attempt unique. */
  readonly token: string;
  readonly clock: SendClock;
  /** The attempt starts no further row after this time. */
  readonly endBefore: EpochMs;
  /** When the batch began to wait for a limit, by words alone; `null` if it does not wait. */
  readonly limitedSince: number | null;
  /** Attempts in a row, just before this one, that gave no row an outcome. */
  readonly fruitless: number;
  /** Whether an earlier attempt had a row accepted. */
  readonly hasAccepted: boolean;
}

/**
 * One attempt's log of a chunk, stored in the lake. From `sending` on, a row counts as possibly sent, until `settle`,
 * `unsent`, or `note` with `held` is called. So the log is correct whenever it is closed.
 */
export class OpenChunk {
  /** When the attempt opened it. */
  readonly at: RunClocks;
  readonly #run: string;
  readonly #chunk: LoadedChunk;
  readonly #open: LogFile;
  readonly #done: LogFile;
  readonly #rows = new Map<number, LoggedRow>();
  /** What the log said of a row before its last request. */
  readonly #before = new Map<number, LoggedRow | undefined>();
  #accepted = 0;
  #dirty = false;
  #writing: Promise<void> = Promise.resolve();
  /** A write that has not begun: it will contain all changes until it begins. */
  #queued: Promise<void> | null = null;
  /** Whether each row is in the log before it is sent. */
  readonly #isNamed: boolean;

  constructor({ clock, connection, input, plan, token, sending }: SendAttemptOptions, chunk: LoadedChunk) {
    this.#isNamed = sending.repeat === 'never';
    this.at = clock.read();
    this.#run = input.run;
    this.#chunk = chunk;
    const keys = planKeys(plan.key);
    this.#open = new LogFile(connection.store, keys.log(chunk.number, token, 'open'));
    this.#done = new LogFile(connection.store, keys.log(chunk.number, token, 'done'));
  }

  /** Writes the open log, before the first row of the chunk is sent. */
  begin(): Promise<void> {
    return this.#write(this.#open, () => this.#log(false, [...this.#rows.values()]));
  }

  /**
   * Call this before the row's request.
   *
   * @param index the row's index in the chunk
   * @returns whether the log in the lake says that the row was not written, so that it must be flushed before the request
   */
  sending(index: number): boolean {
    const before = this.#rows.get(index);
    this.#before.set(index, before);
    this.note(index, 'tried', { status: null, message: null });
    return before?.[1] === 'held';
  }

  /** Records the failure that a row may get each time. The row stays in doubt. */
  failing(index: number, failing: RepeatedFailure): void {
    const [, , status = null, , message = null] = this.#rows.get(index) ?? [];
    this.#rows.set(index, [index, 'tried', status, null, message, failing]);
    this.#dirty = true;
  }

  /** Records that another row was accepted since the row has failed. */
  passed(index: number): void {
    const failing = this.#failureOf(index);
    if (failing !== undefined) this.failing(index, { ...failing, isPassed: true });
  }

  #failureOf(index: number): RepeatedFailure | undefined {
    const logged = this.#rows.get(index);
    return logged?.[1] === 'tried' ? logged[5] : undefined;
  }

  /** Records that the request was certainly not sent. What an earlier request of this attempt left in doubt stays in doubt. */
  unsent(index: number): void {
    const before = this.#before.get(index);
    if (before === undefined) this.#rows.delete(index);
    else this.#rows.set(index, before);
    this.#dirty = true;
  }

  /** Records the outcome of a row. @param index the row's index in the chunk */
  settle(index: number, receipt: RowReceipt): void {
    this.#rows.set(index, loggedReceipt(index, receipt));
    if (isWritten(receipt)) this.#accepted++;
    this.#dirty = true;
  }

  /** Records a row that has no outcome (`LoggedRow`). A row in doubt keeps its failure. */
  note(index: number, what: 'tried' | 'unclear' | 'held', { status, message }: Said): void {
    const failing = this.#failureOf(index);
    const isFailing = what === 'tried' && failing !== undefined;
    this.#rows.set(
      index,
      isFailing ? [index, what, status, null, message, failing] : [index, what, status, null, message],
    );
    this.#dirty = true;
  }

  /** Writes the log if it has changed since the last write. */
  async flush(): Promise<void> {
    if (this.#queued !== null) return this.#queued;
    if (!this.#dirty) return this.#writing;
    this.#queued = this.#write(this.#open, () => {
      this.#queued = null;
      this.#dirty = false;
      return this.#log(false, [...this.#rows.values()]);
    });
    return this.#queued;
  }

  /** Closes a chunk without rows to send. Writes a log only if there are receipts to record. */
  async conclude(): Promise<void> {
    if (this.#rows.size > 0 || this.#receipts() !== null) await this.close();
  }

  /** Closes the log: rows that it does not list were not sent. */
  close(): Promise<void> {
    const rows = this.#receipts();
    if (rows !== null) return this.#write(this.#done, () => this.#log(true, rows));
    return this.#write(this.#open, () => this.#log(true, [...this.#rows.values()]));
  }

  /** The receipts of all rows of the chunk, from all attempts; `null` while one is missing. */
  #receipts(): LoggedRow[] | null {
    const { rows, states } = this.#chunk;
    const receipts: LoggedRow[] = [];
    for (const [index, row] of rows.entries()) {
      if (!isPending(row)) continue;
      const logged = this.#rows.get(index);
      const before = states.get(index)?.receipt ?? null;
      if (logged !== undefined && isReceipt(logged)) receipts.push(logged);
      else if (before !== null) receipts.push(loggedReceipt(index, before));
      else return null;
    }
    return receipts;
  }

  #log(closed: boolean, rows: readonly LoggedRow[]): ChunkLog {
    const named = this.#isNamed ? { isNamed: true as const } : {};
    return { run: this.#run, at: this.at, accepted: this.#accepted, closed, ...named, rows };
  }

  /** Writes one log at a time, in order. @param log called when its write begins */
  #write(file: LogFile, log: () => ChunkLog): Promise<void> {
    const writing = this.#writing.then(() => file.write(log()));
    this.#writing = writing.catch(() => {});
    return writing;
  }
}

function isReceipt([, outcome]: LoggedRow): boolean {
  return outcome !== 'tried' && outcome !== 'unclear' && outcome !== 'held';
}

export interface RowTask {
  readonly chunk: OpenChunk;
  /** The row's index in the chunk. */
  readonly index: number;
  readonly row: ChunkRow;
  /** Whether it may have been sent before without a known outcome. */
  before: SentBefore;
  /** Most requests at a time; absent: as the client has it. A row that is asked for again needs no more than one. */
  attempts?: number;
  /** The failure that earlier attempts got for it. */
  readonly failing: RepeatedFailure | null;
  /** It must not be sent after this time of `SendClock.now`: the service may have forgotten its idempotency key. */
  readonly notAfter: number;
}

/** Tries of one write, and the wait after the first one; it doubles. */
const TRIES = 8;
const FIRST_WAIT_MS = 50;

/**
 * The log of one attempt, which only this attempt writes. Each write is conditional: the first one expects no object, and
 * each later one the version before it. So neither another attempt nor a delayed request can replace a receipt.
 * Calls must not overlap.
 */
export class LogFile {
  #version: Expected = 'absent';

  constructor(
    private readonly store: ObjectStore,
    private readonly key: ObjectKey,
  ) {}

  /** @throws StoreError, even if another writer has used the name */
  async write(log: ChunkLog): Promise<void> {
    const body = encodeSealed(log);
    for (let tries = 1; ; tries++) {
      const failure = await this.#tryWrite(body);
      if (failure === null) return;
      if (tries === TRIES || !failure.retryable) throw failure;
      await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * 2 ** (tries - 1)));
    }
  }

  async #tryWrite(body: Buffer): Promise<StoreError | null> {
    let failure: StoreError;
    try {
      const result = await this.store.swap(this.key, body, this.#version);
      if (result.outcome === 'written') {
        this.#version = { etag: result.etag };
        return null;
      }
      failure = this.#taken();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (!(error instanceof StoreUnclearError)) return error;
      failure = error;
    }
    // A request without a clear answer may have taken effect, even late: then a repeated one is a conflict.
    const found = await this.store.readIfExists(this.key);
    if (!found?.body.equals(body)) return failure;
    this.#version = { etag: found.etag };
    return null;
  }

  #taken(): StoreError {
    return new StoreError({
      kind: 'throttled',
      operation: 'swap',
      key: this.key,
      bucket: this.store.url,
      problem: 'another writer has changed the log of this attempt',
      remedy: 'Run the same command again: each attempt has its own log.',
    });
  }
}
