import type { RowReceipt } from '../../src/write-back/index.js';
import { ChunkFeed, type SendRunOptions } from './chunk-feed.js';
import type { OpenChunk, Task } from './open-chunk.js';
import { type Sent, sendRow } from './send-row.js';
import { nothingThere, stopFailure, unsettled } from './stop.js';

/** Rows that fail in a row, without one between them that is settled, before the service is left alone for a while. */
const FAILURES_IN_A_ROW = 16;
/** Rows that a service without the endpoint may answer with 404 before it is believed. */
const NOT_FOUND_AT_MOST = 20;
/** Longest time for requests under way when an attempt has to end, ms. */
const GRACE_MS = 5_000;
const FLUSH_EVERY_MS = 2_000;

/** One attempt's sending: rows of one chunk after the other, many at a time. */
export class SendRun {
  readonly #options: SendRunOptions;
  readonly #feed: ChunkFeed;
  readonly #abort = new AbortController();
  /** Chunks under way, with the number of their rows that are. */
  readonly #open = new Map<OpenChunk, number>();
  readonly #closing: Promise<void>[] = [];
  #halted: { readonly error: unknown } | null = null;
  #grace: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Whether the service has taken or judged a row, so that its 404 is about a row. */
  #answered: boolean;
  #notFound: { readonly task: Task; readonly receipt: RowReceipt }[] = [];
  #settled = 0;
  #doubtful = 0;
  /** Rows with an outcome, over all attempts. */
  rows: number;
  /** Milliseconds since 1970 until which the service asked to be left alone. */
  waitingUntil: number | null = null;

  constructor(options: SendRunOptions) {
    const { plan, deps, endBefore } = options;
    this.#options = options;
    this.#feed = new ChunkFeed(options, {
      onOpen: (chunk, tasks) => void this.#open.set(chunk, tasks),
      onKnown: () => void this.rows++,
      mustEnd: () => this.#halted !== null || deps.now() > endBefore || deps.draining(),
    });
    this.#answered = this.#feed.todo.length < plan.pending.length;
    this.rows = plan.rows - this.#feed.todo.reduce((rows, chunk) => rows + plan.chunks[chunk]!, 0);
  }

  /** Begins no further row; those under way get a moment. The first reason stays. */
  halt(error: unknown): void {
    if (this.#halted !== null) return;
    this.#halted = { error };
    this.#endSoon();
  }

  /**
   * Sends until everything has an outcome, or this attempt has to end.
   *
   * @returns whether nothing is left to send
   * @throws what `halt` was given, or a failure that calls for another attempt later
   */
  async run(): Promise<boolean> {
    const { deps, endBefore, connection, input } = this.#options;
    const flushing = setInterval(() => {
      for (const chunk of this.#open.keys()) chunk.flush().catch((error) => this.halt(error));
    }, FLUSH_EVERY_MS);
    // A request that never ends must not outlive the attempt.
    const ending = setTimeout(() => this.#endSoon(), Math.min(endBefore - deps.now(), 2 ** 31 - 1));
    let reachedEnd = false;
    try {
      const tasks = this.#feed.tasks();
      const lanes = Array.from({ length: connection.settings.http.concurrency }, () => this.#lane(tasks));
      reachedEnd = (await Promise.all(lanes)).includes(true);
      this.#judgeNotFound('end');
    } finally {
      clearInterval(flushing);
      clearTimeout(ending);
      clearTimeout(this.#grace);
      await Promise.all([...this.#open.keys()].map((chunk) => this.#close(chunk)));
      await Promise.all(this.#closing);
    }
    if (this.#halted !== null) throw stopFailure(this.#halted.error, input.resource);
    if (!reachedEnd) return false;
    if (this.#doubtful === 0) return true;
    if (this.#settled > 0) return false;
    throw unsettled(input.resource, this.#doubtful);
  }

  #endSoon(): void {
    const { giveUpAfterMs } = this.#options.connection.settings.retries;
    this.#grace ??= setTimeout(() => this.#abort.abort(), Math.min(GRACE_MS, giveUpAfterMs / 4));
  }

  /** Returns whether it was this one that saw the last row given out. */
  async #lane(tasks: AsyncGenerator<Task, boolean>): Promise<boolean> {
    const { deps, connection, input } = this.#options;
    const { resource } = input;
    const onWait = (untilMs: number): void => {
      this.waitingUntil = untilMs;
    };
    for (;;) {
      const next = await tasks.next().catch((error) => {
        this.halt(error);
        return { done: true, value: false } as const;
      });
      if (next.done === true) return next.value ?? false;
      if (this.#halted !== null) continue;
      // A machine that stood still must not send what others take for lost by now.
      if (deps.now() - next.value.chunk.at > connection.settings.writeBack.unknownAfterMs) {
        this.halt(new Error('this worker stood still for too long; another attempt goes on'));
        continue;
      }
      const options = { connection, resource, signal: this.#abort.signal, onWait };
      this.#hear(next.value, await sendRow(next.value, options));
    }
  }

  #hear(task: Task, sent: Sent): void {
    const { resource } = this.#options.input;
    switch (sent.kind) {
      case 'settled':
        this.#failures = 0;
        this.waitingUntil = null;
        this.#answered = true;
        this.#settle(task, sent.receipt);
        this.#judgeNotFound('more');
        return;
      case 'nothing-there':
        this.#notFound.push({ task, receipt: sent.receipt });
        this.#judgeNotFound('more');
        return;
      case 'unsent':
        this.halt(sent.stop);
        this.#finished(task);
        return;
      case 'doubt':
        task.chunk.tried(task.index, sent.status, sent.message);
        this.#doubtful++;
        this.#failures++;
        if (sent.stop !== null) this.halt(sent.stop);
        else if (this.#failures >= FAILURES_IN_A_ROW) this.halt(unsettled(resource, this.#doubtful));
        this.#finished(task);
    }
  }

  /** 404 is about the row where the service knows the path; where it has never taken one, it is about the path. */
  #judgeNotFound(when: 'more' | 'end'): void {
    const { input, connection } = this.#options;
    const found = this.#notFound;
    if (this.#answered) {
      this.#notFound = [];
      for (const { task, receipt } of found) this.#settle(task, receipt);
    } else if (found.length > 0 && (when === 'end' || found.length >= NOT_FOUND_AT_MOST)) {
      this.#notFound = [];
      const { path } = connection.settings.writeBack[input.resource];
      this.halt(nothingThere(input.resource, path, found.length));
      for (const { task } of found) this.#finished(task);
    }
  }

  #settle(task: Task, receipt: RowReceipt): void {
    task.chunk.settle(task.index, receipt);
    this.#settled++;
    this.rows++;
    this.#finished(task);
  }

  #finished({ chunk }: Task): void {
    const left = this.#open.get(chunk)! - 1;
    this.#open.set(chunk, left);
    if (left === 0) this.#closing.push(this.#close(chunk));
  }

  async #close(chunk: OpenChunk): Promise<void> {
    if (this.#open.delete(chunk)) await chunk.close().catch((error) => this.halt(error));
  }
}
