import { EventEmitter, once, setMaxListeners } from 'node:events';
import type { RowOutcome, SendHeartbeat } from '../../src/core/contract/write-back.js';
import { isWritten, type RowReceipt, type Said } from '../../src/write-back/plan-file.js';
import { ChunkFeed } from './chunk-feed.js';
import type { OpenChunk, RowTask, SendAttemptOptions } from './open-chunk.js';
import { MAX_IN_A_ROW, Refusals } from './refusals.js';
import { type RequestOutcome, sendRowRequest } from './row-request.js';
import { endpointMissing, stopFailure, unsettledFailure } from './stop-reasons.js';

/** Longest time that requests in flight get to finish when an attempt ends, ms. */
const GRACE_MS = 5_000;
const FLUSH_EVERY_MS = 2_000;
/** Rows answered with 404 or 405, with no other answer, until the endpoint counts as missing. */
const MAX_NOT_FOUND = 20;

/** One attempt at sending the rows of a plan: chunk by chunk, many requests at the same time. */
export class SendAttempt {
  readonly #options: SendAttemptOptions;
  readonly #feed: ChunkFeed;
  readonly #abort = new AbortController();
  /** Open chunks, with the number of their unfinished rows. */
  readonly #open = new Map<OpenChunk, number>();
  readonly #closing: Promise<void>[] = [];
  readonly #refusals: Refusals;
  /** Rows that the service answered with 404 or 405. */
  #notFound: { readonly task: RowTask; readonly receipt: RowReceipt }[] = [];
  /** Whether the service has accepted or rejected a row. */
  #answered: boolean;
  /** Tells the senders that a request has ended, or that the attempt must end. */
  readonly #changed = new Signal();
  #inFlight = 0;
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
  /** The time that the service has asked the connector to wait for, in milliseconds since 1970. */
  #waitingUntil: number | null = null;

  constructor(options: SendAttemptOptions) {
    const { plan } = options;
    this.#options = options;
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
      signal: this.#abort.signal,
      send: (task) => this.#send(task),
      idle: () => this.#idle(),
      settle: (task, receipt) => this.#settle(task, receipt),
      unclear: (task, said) => this.#unclear(task, said),
      failures: () => this.#failures,
      halt: (error) => this.halt(error),
    });
    this.#rows = plan.file.rows - this.#feed.todo.reduce((rows, chunk) => rows + plan.file.chunks[chunk]!, 0);
  }

  get progress(): SendHeartbeat {
    const limitedSince = this.#refusals.limited.since;
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
        for (let task = await this.#next(); task !== null; task = await this.#next()) await this.#send(task);
      };
      await Promise.all(
        Array.from({ length: concurrency }, () => sendRows().catch((error) => this.halt(error))),
      );
      await this.#refusals.probing;
      await this.#feed.end();
      this.#judgeNotFound('end');
      if (this.#halted === null && this.#isDone() && this.#unsettled === 0)
        await this.#refusals.conclude().catch((error) => this.halt(error));
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
    return this.#feed.reachedEnd && this.#refusals.limited.size === 0;
  }

  #endSoon(): void {
    const { giveUpAfterMs } = this.#options.connection.settings.retries;
    this.#grace ??= setTimeout(() => this.#abort.abort(), Math.min(GRACE_MS, giveUpAfterMs / 8));
  }

  /** The next row to send; `null` if there is none, or if the attempt must end. */
  async #next(): Promise<RowTask | null> {
    const { deps } = this.#options;
    const { limited } = this.#refusals;
    while (!this.#mustEnd()) {
      const { count } = this.#changed;
      if (this.#refusals.probing !== null) {
        await this.#refusals.probing;
        continue;
      }
      const which = this.#isWary && this.#inDoubt.size > 0 ? 'new' : 'any';
      const task = limited.takeDue(deps.now()) ?? this.#takeNew(which);
      if (task !== null) {
        if (task.before !== 'never') this.#inDoubt.add(task);
        return task;
      }
      if (limited.mayTakeNew(deps.now()) && (await this.#feed.advance(which))) continue;
      const due = limited.nextDue;
      if (due !== null) {
        this.#waitingUntil = due;
        await this.#changed.since(count, Math.min(due - deps.now(), FLUSH_EVERY_MS));
      } else if (this.#inFlight > 0) await this.#changed.since(count, FLUSH_EVERY_MS);
      else if (this.#refusals.probing === null) return null;
    }
    return null;
  }

  #takeNew(which: 'any' | 'new'): RowTask | null {
    const now = this.#options.deps.now();
    const { limited } = this.#refusals;
    if (!limited.mayTakeNew(now)) return null;
    const task = this.#feed.take(which);
    if (task !== null) limited.tookNew(now);
    return task;
  }

  async #idle(): Promise<void> {
    while (this.#inFlight > 0) await this.#changed.since(this.#changed.count, FLUSH_EVERY_MS);
  }

  async #send(task: RowTask): Promise<void> {
    task.chunk.sending(task.index);
    this.#inFlight++;
    try {
      if (!(await this.#mayBegin(task))) return;
      const begun = this.#refusals.begin();
      const sent = await sendRowRequest(task, this.#options, {
        signal: this.#abort.signal,
        onWait: (untilMs) => {
          this.#waitingUntil = untilMs;
        },
        onRefused: () => this.#refusals.refused(task),
      });
      this.#record(task, sent, begun);
    } finally {
      this.#inFlight--;
      this.#inDoubt.delete(task);
      this.#changed.notify();
    }
  }

  /**
   * Whether the request of a row may begin. If the service does not honour keys, the intent to send the row, and the results so
   * far, must be in the lake before that: so a killed worker leaves only the rows in flight in doubt.
   */
  async #mayBegin(task: RowTask): Promise<boolean> {
    if (this.#options.sending.repeat === 'always') return true;
    try {
      await Promise.all([...this.#open.keys()].map((chunk) => chunk.flush()));
      // Whoever ended the turn before this check may have read the log without this row.
      if (await this.#feed.hasTurnEnded()) throw this.#feed.turnEnded();
      return true;
    } catch (error) {
      task.chunk.unsent(task.index);
      this.#failed(task, error);
      return false;
    }
  }

  #record(task: RowTask, sent: RequestOutcome, begun: number): void {
    const { chunk, index } = task;
    if (sent.kind !== 'unsent' && sent.kind !== 'in-doubt') {
      this.#isWary ||= this.#failures >= MAX_IN_A_ROW;
      this.#failures = 0;
    }
    switch (sent.kind) {
      case 'settled':
        this.#waitingUntil = null;
        this.#answered = true;
        this.#settle(task, sent.receipt);
        this.#judgeNotFound('more');
        if (isWritten(sent.receipt)) this.#refusals.accepted(task, begun);
        return;
      case 'unclear':
        this.#unclear(task, sent);
        return;
      case 'refused':
        this.#refusals.hold(task, sent.refusal);
        return;
      case 'limited':
        if (sent.refusal.inDoubt && task.before === 'never') {
          // Its next request must not count as its first one.
          chunk.sending(index);
          this.#failed(task, null);
        } else if (this.#refusals.limit(task, sent.refusal) && !sent.refusal.inDoubt) chunk.unsent(index);
        return;
      case 'endpoint-missing':
        this.#notFound.push({ task, receipt: sent.receipt });
        this.#judgeNotFound('more');
        return;
      case 'unsent':
        chunk.unsent(index);
        this.#failed(task, sent.stop);
        return;
      case 'in-doubt':
        this.#lastStatus = sent.status ?? this.#lastStatus;
        chunk.note(index, 'tried', sent);
        this.#failed(task, sent.stop);
    }
  }

  #failed(task: RowTask, stop: unknown): void {
    this.#unsettled++;
    this.#failures++;
    if (stop !== null) this.halt(stop);
    else this.#refusals.check();
    this.#finished(task);
  }

  /**
   * A 404 or 405 concerns the row if the service has accepted or rejected other rows. Otherwise it concerns the endpoint.
   *
   * @param when `end`: no other row follows
   */
  #judgeNotFound(when: 'more' | 'end'): void {
    const { input, sending } = this.#options;
    const rows = this.#notFound;
    if (rows.length === 0) return;
    if (!this.#answered && when === 'more' && rows.length < MAX_NOT_FOUND) return;
    this.#notFound = [];
    if (this.#answered) {
      for (const { task, receipt } of rows) this.#settle(task, receipt);
      return;
    }
    this.halt(endpointMissing(input.resource, sending.path, rows.length));
    for (const { task } of rows) {
      // A 404 or 405 says that the service did not write the row.
      task.chunk.unsent(task.index);
      this.#finished(task);
    }
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
