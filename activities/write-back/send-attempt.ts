import { setMaxListeners } from 'node:events';
import type { RowOutcome } from '../../src/core/contract/write-back.js';
import type { RowReceipt } from '../../src/write-back/index.js';
import { ChunkFeed, type SendAttemptOptions } from './chunk-feed.js';
import type { OpenChunk, RowTask } from './open-chunk.js';
import { type RequestOutcome, sendRowRequest } from './row-request.js';
import { endpointMissing, stopFailure, unsettledFailure } from './stop-failures.js';

/** Consecutive failed rows after which the attempt ends, so that Temporal retries it after a pause. */
const MAX_CONSECUTIVE_FAILURES = 16;
/** Rows answered with 404 or 405, with no other answer, after which the endpoint counts as missing. */
const MAX_NOT_FOUND = 20;
/** Longest time that requests in flight get to finish when an attempt ends, ms. */
const GRACE_MS = 5_000;
const FLUSH_EVERY_MS = 2_000;

/** One attempt at sending the rows of a plan: chunk by chunk, many requests at the same time. */
export class SendAttempt {
  readonly #options: SendAttemptOptions;
  readonly #feed: ChunkFeed;
  readonly #abort = new AbortController();
  /** Open chunks, with the number of their unfinished rows. */
  readonly #open = new Map<OpenChunk, number>();
  readonly #closing: Promise<void>[] = [];
  #halted: { readonly error: unknown } | null = null;
  #grace: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Whether the service has accepted or rejected a row. Then a 404 concerns its row and not the endpoint. */
  #answered: boolean;
  #notFound: { readonly task: RowTask; readonly receipt: RowReceipt }[] = [];
  #settled = 0;
  /** Rows without an outcome in this attempt. */
  #unsettled = 0;
  /** Rows that got an outcome in this attempt, by outcome. */
  readonly settled = new Map<RowOutcome, number>();
  /** Rows with an outcome, over all attempts. */
  rows: number;
  /** Milliseconds since 1970 until which the service has asked the connector to wait. */
  waitingUntil: number | null = null;

  constructor(options: SendAttemptOptions) {
    const { plan, deps, endBefore } = options;
    this.#options = options;
    // Each request in flight adds a listener, and Node warns about more than ten.
    setMaxListeners(0, this.#abort.signal);
    this.#feed = new ChunkFeed(options, {
      onOpen: (chunk, tasks) => void this.#open.set(chunk, tasks),
      onSettled: () => void this.rows++,
      mustEnd: () => this.#halted !== null || deps.now() > endBefore || deps.draining(),
    });
    this.#answered = plan.file.pending.some((chunk) => (options.logs.get(chunk)?.done ?? []).length > 0);
    this.rows = plan.file.rows - this.#feed.todo.reduce((rows, chunk) => rows + plan.file.chunks[chunk]!, 0);
  }

  /** Starts no further row. Requests in flight get a short time to finish. Only the first reason counts. */
  halt(error: unknown): void {
    if (this.#halted !== null) return;
    this.#halted = { error };
    this.#endSoon();
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
      await Promise.all(
        Array.from({ length: concurrency }, () => this.#sendRows().catch((error) => this.halt(error))),
      );
      this.#judgeNotFound('end');
    } finally {
      clearInterval(flushing);
      clearTimeout(ending);
      clearTimeout(this.#grace);
      await Promise.all([...this.#open.keys()].map((chunk) => this.#close(chunk)));
      await Promise.all(this.#closing);
    }
    if (this.#halted !== null) throw stopFailure(this.#halted.error, input.resource);
    if (!this.#feed.reachedEnd) return false;
    if (this.#unsettled === 0) return true;
    if (this.#settled > 0) return false;
    throw unsettledFailure(input.resource, this.#unsettled);
  }

  #endSoon(): void {
    const { giveUpAfterMs } = this.#options.connection.settings.retries;
    this.#grace ??= setTimeout(() => this.#abort.abort(), Math.min(GRACE_MS, giveUpAfterMs / 4));
  }

  /** Sends rows one after the other, until there are no more or the attempt must end. */
  async #sendRows(): Promise<void> {
    const { connection, input } = this.#options;
    const { resource } = input;
    const onWait = (untilMs: number): void => {
      this.waitingUntil = untilMs;
    };
    const options = { connection, resource, signal: this.#abort.signal, onWait };
    for (;;) {
      const task = this.#feed.take();
      if (task !== null) {
        task.chunk.sending(task.index);
        this.#record(task, await sendRowRequest(task, options));
      } else if (!(await this.#feed.advance())) {
        return;
      }
    }
  }

  #record(task: RowTask, sent: RequestOutcome): void {
    switch (sent.kind) {
      case 'settled':
        this.#failures = 0;
        this.waitingUntil = null;
        this.#answered = true;
        this.#settle(task, sent.receipt);
        this.#judgeNotFound('more');
        return;
      case 'endpoint-missing':
        this.#notFound.push({ task, receipt: sent.receipt });
        this.#judgeNotFound('more');
        return;
      case 'unsent':
        task.chunk.unsent(task.index);
        this.#failed(task, sent.stop);
        return;
      case 'in-doubt':
        task.chunk.tried(task.index, sent.status, sent.message);
        this.#failed(task, sent.stop);
    }
  }

  #failed(task: RowTask, stop: unknown): void {
    this.#unsettled++;
    this.#failures++;
    if (stop !== null) this.halt(stop);
    else if (this.#failures >= MAX_CONSECUTIVE_FAILURES)
      this.halt(unsettledFailure(this.#options.input.resource, this.#unsettled));
    this.#finished(task);
  }

  /** A 404 concerns the row if the service has accepted or rejected other rows. Otherwise it concerns the endpoint. */
  #judgeNotFound(when: 'more' | 'end'): void {
    const { input, connection } = this.#options;
    const found = this.#notFound;
    if (this.#answered) {
      this.#notFound = [];
      for (const { task, receipt } of found) this.#settle(task, receipt);
    } else if (found.length > 0 && (when === 'end' || found.length >= MAX_NOT_FOUND)) {
      this.#notFound = [];
      const { path } = connection.settings.writeBack[input.resource];
      this.halt(endpointMissing(input.resource, path, found.length));
      for (const { task } of found) {
        // A 404 or 405 says that the service did not write the row.
        task.chunk.unsent(task.index);
        this.#finished(task);
      }
    }
  }

  #settle(task: RowTask, receipt: RowReceipt): void {
    task.chunk.settle(task.index, receipt);
    this.#settled++;
    this.settled.set(receipt.outcome, (this.settled.get(receipt.outcome) ?? 0) + 1);
    this.rows++;
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
