import { EventEmitter, once, setMaxListeners } from 'node:events';
import type { EpochMs } from '../../src/core/brands.js';
import type { RowOutcome, SendHeartbeat } from '../../src/core/contract/write-back.js';
import { isWritten, type RowReceipt, type Said } from '../../src/write-back/plan-file.js';
import { ChunkFeed } from './chunk-feed.js';
import type { OpenChunk, RowTask, SendAttemptOptions } from './open-chunk.js';
import { MAX_IN_A_ROW, Refusals } from './refusals.js';
import {
  newKeyRemedy,
  type Refusal,
  type RequestOutcome,
  sendRowRequest,
  storedText,
} from './row-request.js';
import { stopFailure, unsettledFailure } from './stop-reasons.js';

/** Longest time that requests in flight get to finish when an attempt ends, ms. */
const GRACE_MS = 5_000;
const FLUSH_EVERY_MS = 2_000;
/** Accepted rows until one more request is sent at the same time, after conflicts. */
const WIDEN_AFTER = 20;

/** One attempt at sending the rows of a plan: chunk by chunk, many requests at the same time. */
export class SendAttempt {
  readonly #options: SendAttemptOptions;
  readonly #feed: ChunkFeed;
  readonly #abort = new AbortController();
  /** Open chunks, with the number of their unfinished rows. */
  readonly #open = new Map<OpenChunk, number>();
  readonly #closing: Promise<void>[] = [];
  readonly #refusals: Refusals;
  /** Whether the service has accepted or rejected a row. */
  #answered: boolean;
  /** Tells the senders that a request has ended, or that the attempt must end. */
  readonly #changed = new Signal();
  #inFlight = 0;
  /** The only request in flight, as long as no other one has begun meanwhile. */
  #alone: RowTask | null = null;
  /** Senders that have a row. */
  #busy = 0;
  /** Most rows that are sent at the same time. Conflicts make it smaller. */
  #width: number;
  #sinceConflict = 0;
  #halted: { readonly error: unknown } | null = null;
  #grace: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Whether many rows in a row have failed, and another one has not. Then rows in doubt are sent one at a time. */
  #isWary = false;
  readonly #inDoubt = new Set<RowTask>();
  #settled = 0;
  /** Rows without an outcome in this attempt. */
  #unsettled = 0;
  /** The status of the last response that left a row without an outcome; `null` if there was none. */
  #lastStatus: number | null = null;
  /** Rows that got an outcome in this attempt, by outcome. */
  readonly settled = new Map<RowOutcome, number>();
  /** Rows with an outcome, over all attempts. */
  #rows: number;
  /** The time that the service has asked the connector to wait for. */
  #waitingUntil: EpochMs | null = null;

  constructor(options: SendAttemptOptions) {
    const { plan } = options;
    this.#options = options;
    this.#width = options.connection.settings.http.concurrency;
    // Each request in flight adds a listener, and Node warns about more than ten.
    setMaxListeners(0, this.#abort.signal);
    this.#feed = new ChunkFeed(options, {
      onOpen: (chunk, tasks) => void this.#open.set(chunk, tasks),
      onSettled: (receipt) => {
        this.#rows++;
        // The endpoint has answered in an earlier attempt.
        if (receipt !== null && receipt.status !== null) this.#answered = true;
      },
      mustEnd: () => this.#mustEnd(),
    });
    this.#answered = plan.file.pending.some((chunk) => (options.logs.get(chunk)?.done ?? []).length > 0);
    this.#refusals = new Refusals(options, this.#feed, {
      send: (task) => this.#send(task),
      idle: () => this.#idle(),
      settle: (task, receipt) => this.#settle(task, receipt),
      unclear: (task, said) => this.#unclear(task, said),
      failures: () => this.#failures,
      answered: () => this.#answered,
      halt: (error) => this.halt(error),
    });
    this.#rows = plan.file.rows - this.#feed.todo.reduce((rows, chunk) => rows + plan.file.chunks[chunk]!, 0);
  }

  get progress(): SendHeartbeat {
    const limitedSince = this.#refusals.waiting.since;
    const fruitless = this.#settled > 0 ? 0 : this.#options.fruitless + 1;
    return { rows: this.#rows, waitingUntil: this.#waitingUntil, limitedSince, fruitless };
  }

  /**
   * Starts no further row. Requests in flight get a short time to finish. Only the first reason counts.
   *
   * @param error `null`: too many rows have no outcome
   */
  halt(error: unknown): void {
    if (this.#halted !== null) return;
    this.#halted = { error };
    this.#endSoon();
    this.#changed.notify();
  }

  /** Writes what has happened so far to the lake. @throws StoreError */
  async flush(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((chunk) => chunk.flush()));
  }

  /**
   * Sends rows until all have an outcome or this attempt must end.
   *
   * @returns whether all rows have an outcome
   * @throws the error that was passed to `halt`, or a retryable failure
   */
  async sendAll(): Promise<boolean> {
    const { deps, endBefore, connection, input } = this.#options;
    const flushing = setInterval(() => {
      for (const chunk of this.#open.keys()) chunk.flush().catch((error) => this.halt(error));
    }, FLUSH_EVERY_MS);
    // A request that hangs must not outlive the attempt.
    const ending = setTimeout(() => this.#endSoon(), Math.min(endBefore - deps.now(), 2 ** 31 - 1));
    try {
      const { concurrency } = connection.settings.http;
      // Wait for all senders, even if one fails: a log must not be closed while one of its rows is in flight.
      const sendRows = async (): Promise<void> => {
        for (let task = await this.#next(); task !== null; task = await this.#next())
          await this.#send(task).finally(() => this.#busy--);
      };
      await Promise.all(
        Array.from({ length: concurrency }, () => sendRows().catch((error) => this.halt(error))),
      );
      await this.#refusals.probing;
      await this.#feed.end();
      this.#refusals.end();
      for (const task of this.#refusals.failing) this.#leave(task);
      if (this.#halted === null && this.#isDone() && this.#unsettled === 0) this.#refusals.conclude();
    } finally {
      clearInterval(flushing);
      clearTimeout(ending);
      clearTimeout(this.#grace);
      await Promise.all([...this.#open.keys()].map((chunk) => this.#close(chunk)));
      await Promise.all(this.#closing);
    }
    const unsettled = unsettledFailure(input.resource, this.#unsettled, this.#lastStatus);
    if (this.#halted !== null) throw stopFailure(this.#halted.error ?? unsettled, input.resource);
    if (this.#unsettled === 0) return this.#isDone();
    // Another call has all the time again. Without an outcome, it must not be made, or the batch never gives up.
    if (this.#settled > 0) return false;
    throw unsettled;
  }

  #mustEnd(): boolean {
    const { deps, endBefore } = this.#options;
    return this.#halted !== null || deps.now() > endBefore || deps.draining();
  }

  /** Whether every row was sent at least once, and none waits. */
  #isDone(): boolean {
    return this.#feed.reachedEnd && this.#refusals.waiting.size === 0;
  }

  #endSoon(): void {
    const { giveUpAfterMs } = this.#options.connection.settings.retries;
    this.#grace ??= setTimeout(() => this.#abort.abort(), Math.min(GRACE_MS, giveUpAfterMs / 8));
  }

  /** The next row to send; `null` if there is none, or if the attempt must end. */
  async #next(): Promise<RowTask | null> {
    const { waiting } = this.#refusals;
    while (!this.#mustEnd()) {
      const { count } = this.#changed;
      if (this.#refusals.probing !== null) {
        await this.#refusals.probing;
        continue;
      }
      if (this.#busy >= this.#width) {
        await this.#changed.since(count, FLUSH_EVERY_MS);
        continue;
      }
      const which = this.#isWary && this.#inDoubt.size > 0 ? 'new' : 'any';
      const now = this.#options.clock.now();
      const maySend = ({ before }: RowTask): boolean => which === 'any' || before === 'never';
      const task = waiting.takeDue(now, maySend) ?? this.#takeNew(which);
      if (task !== null) {
        if (task.before !== 'never') this.#inDoubt.add(task);
        this.#busy++;
        return task;
      }
      if (waiting.mayTakeNew(now) && (await this.#feed.advance(which))) continue;
      const due = waiting.nextDue;
      if (due !== null) {
        this.#waitingUntil = due;
        // A row that is due waits for another one in doubt.
        const untilDue = due > now ? due - now : FLUSH_EVERY_MS;
        await this.#changed.since(count, Math.min(untilDue, FLUSH_EVERY_MS));
      } else if (this.#inFlight > 0) await this.#changed.since(count, FLUSH_EVERY_MS);
      else if (this.#refusals.probing === null) return null;
    }
    return null;
  }

  #takeNew(which: 'any' | 'new'): RowTask | null {
    const now = this.#options.clock.now();
    const { waiting } = this.#refusals;
    if (!waiting.mayTakeNew(now)) return null;
    const task = this.#feed.take(which);
    if (task !== null) waiting.tookNew(now);
    return task;
  }

  async #idle(): Promise<void> {
    while (this.#inFlight > 0) await this.#changed.since(this.#changed.count, FLUSH_EVERY_MS);
  }

  async #send(task: RowTask): Promise<void> {
    const wasHeld = task.chunk.sending(task.index);
    this.#alone = this.#inFlight === 0 ? task : null;
    this.#inFlight++;
    let isAlone = false;
    try {
      if (!(await this.#mayBegin(task, wasHeld))) return;
      const begun = this.#refusals.begin();
      const sent = await sendRowRequest(task, this.#options, {
        signal: this.#abort.signal,
        onWait: (untilMs) => {
          this.#waitingUntil = untilMs;
        },
        onLimit: () => this.#refusals.meetsLimit(task),
      });
      isAlone = this.#alone === task;
      this.#record(task, sent, { begun, isAlone });
    } finally {
      this.#inFlight--;
      if (isAlone) this.#alone = null;
      this.#inDoubt.delete(task);
      this.#changed.notify();
    }
  }

  /**
   * Whether the request of a row may begin. If the service does not honour keys, the intent to send the row, and the results so
   * far, must be in the lake before that: so a killed worker leaves only the rows in flight in doubt. So must the intent to send a
   * row again that the log says was not written.
   */
  async #mayBegin(task: RowTask, wasHeld: boolean): Promise<boolean> {
    const isNamed = this.#options.sending.repeat === 'never';
    if (!isNamed && !wasHeld) return true;
    try {
      await (isNamed ? this.flush() : task.chunk.flush());
      // Whoever ended the turn before this check may have read the log without this row.
      if (await this.#feed.hasTurnEnded()) throw this.#feed.turnEnded();
      return true;
    } catch (error) {
      task.chunk.unsent(task.index);
      this.#failed(task, error);
      return false;
    }
  }

  #record(
    task: RowTask,
    sent: RequestOutcome,
    { begun, isAlone }: { readonly begun: number; readonly isAlone: boolean },
  ): void {
    const { chunk, index } = task;
    if (sent.kind !== 'unsent' && sent.kind !== 'in-doubt' && sent.kind !== 'failing') {
      this.#isWary ||= this.#failures >= MAX_IN_A_ROW;
      this.#failures = 0;
    }
    const lasting = this.#options.sending.repeat === 'never' ? notRepeated(sent) : sent;
    switch (lasting.kind) {
      case 'settled':
        this.#settledBy(task, lasting.receipt, begun);
        return;
      case 'unclear':
        this.#unclear(task, lasting);
        return;
      case 'refused':
        this.#asksAgain(task, lasting.refusal);
        this.#refusals.refused(task, lasting.refusal);
        return;
      case 'limited':
        this.#asksAgain(task, lasting.refusal);
        this.#refusals.limited(task, lasting.refusal);
        return;
      case 'conflict':
        this.#asksAgain(task, lasting.refusal);
        this.#width = Math.max(1, Math.floor(this.#width / 2));
        this.#sinceConflict = 0;
        this.#refusals.conflict(task, lasting.refusal, isAlone);
        return;
      case 'failing':
        this.#fails(task, lasting);
        return;
      case 'unsent':
        chunk.unsent(index);
        this.#failed(task, lasting.stop);
        return;
      case 'in-doubt':
        this.#lastStatus = lasting.status ?? this.#lastStatus;
        chunk.note(index, 'tried', lasting);
        this.#failed(task, lasting.stop);
    }
  }

  #settledBy(task: RowTask, receipt: RowReceipt, begun: number): void {
    this.#waitingUntil = null;
    if (!isWritten(receipt)) {
      if (this.#refusals.holdsRejection(task, receipt)) return;
      this.#answered = true;
      this.#settle(task, receipt);
      return;
    }
    this.#answered = true;
    this.#settle(task, receipt);
    this.#refusals.accepted(task, begun);
    const { concurrency } = this.#options.connection.settings.http;
    if (this.#width < concurrency && ++this.#sinceConflict % WIDEN_AFTER === 0) this.#width++;
  }

  /** The next request for the row is not its first one. */
  #asksAgain(task: RowTask, { inDoubt }: Refusal): void {
    if (inDoubt && task.before === 'never') task.before = 'remembered';
    task.attempts = 1;
  }

  /** A complete answer leaves the row in doubt, and may be the same each time. */
  #fails(task: RowTask, sent: Extract<RequestOutcome, { kind: 'failing' }>): void {
    const { chunk, index } = task;
    const { error, status, message } = sent;
    this.#lastStatus = status ?? this.#lastStatus;
    chunk.note(index, 'tried', sent);
    this.#asksAgain(task, { error, inDoubt: true });
    if (!this.#refusals.failed(task, error.write?.sameness ?? null)) {
      const isStored = error.write?.isMarked === true;
      const remedy = newKeyRemedy(this.#options.input.batchId, task.row.row);
      const text = isStored
        ? storedText(error, remedy)
        : `the service fails for this row each time: ${message}. ${remedy}`;
      this.#unclear(task, { status, message: text });
      return;
    }
    this.#failures++;
    this.#refusals.check();
  }

  #failed(task: RowTask, stop: unknown): void {
    this.#failures++;
    if (stop !== null) this.halt(stop);
    else this.#refusals.check();
    this.#leave(task);
  }

  /** Gives a row up in this attempt. It has no outcome. */
  #leave(task: RowTask): void {
    this.#unsettled++;
    this.#finished(task);
  }

  /** The outcome of the row stays unknown in this run. */
  #unclear(task: RowTask, said: Said): void {
    task.chunk.note(task.index, 'unclear', said);
    this.#settled++;
    this.#rows++;
    this.#finished(task);
  }

  #settle(task: RowTask, receipt: RowReceipt): void {
    task.chunk.settle(task.index, receipt);
    this.#settled++;
    this.settled.set(receipt.outcome, (this.settled.get(receipt.outcome) ?? 0) + 1);
    this.#rows++;
    this.#finished(task);
  }

  #finished({ chunk }: RowTask): void {
    const left = this.#open.get(chunk)! - 1;
    this.#open.set(chunk, left);
    if (left === 0) this.#closing.push(this.#close(chunk));
  }

  async #close(chunk: OpenChunk): Promise<void> {
    if (this.#open.delete(chunk)) await chunk.close().catch((error) => this.halt(error));
  }
}

/** For a service that does not honour keys: an answer that would let a row in doubt be sent again becomes one that does not. */
function notRepeated(sent: RequestOutcome): RequestOutcome {
  if (sent.kind === 'failing') return { ...sent, kind: 'in-doubt', stop: null };
  if (sent.kind !== 'refused' && sent.kind !== 'limited' && sent.kind !== 'conflict') return sent;
  const { error, inDoubt } = sent.refusal;
  if (!inDoubt) return sent;
  return { kind: 'unclear', status: error.status, message: error.serviceMessage ?? error.message };
}

/** Wakes everything that waits for a change. */
class Signal {
  /** Number of changes. */
  count = 0;
  readonly #events = new EventEmitter().setMaxListeners(0);

  notify(): void {
    this.count++;
    this.#events.emit('change');
  }

  /** Waits for a change since the number was `count`, or for this long, ms. */
  async since(count: number, ms: number): Promise<void> {
    if (this.count !== count) return;
    const signal = AbortSignal.timeout(Math.max(ms, 1));
    await once(this.#events, 'change', { signal }).catch(() => {});
  }
}
