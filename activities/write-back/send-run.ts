import type { SendRowsInput } from '../../src/core/write-back-contract.js';
import { type ChunkRow, isPending, type PlanFile, type RowReceipt } from '../../src/write-back/index.js';
import type { ActivityDeps, OpenConnection } from '../deps.js';
import { type LoadedChunk, type LogIndex, loadChunk } from './logs.js';
import { OpenChunk, type Task } from './open-chunk.js';
import { type Sent, sendRow } from './send-row.js';
import { nothingThere, stopFailure, unsettled } from './stop.js';

export interface SendRunOptions {
  readonly deps: ActivityDeps;
  readonly connection: OpenConnection;
  readonly input: SendRowsInput;
  readonly plan: PlanFile;
  readonly logs: LogIndex;
  /** Tells this attempt's logs from others'. */
  readonly token: string;
  /** Milliseconds since 1970 after which no further row is begun. */
  readonly endBefore: number;
}

/** Rows that fail in a row, without an answer between them that settles one, before the service is left alone for a while. */
const FAILURES_IN_A_ROW = 16;
/** Rows that a service without the endpoint may answer with 404 before it is believed. */
const NOT_FOUND_AT_MOST = 20;
/** Time for requests under way when a batch stops, ms. */
const GRACE_MS = 5_000;
const FLUSH_EVERY_MS = 2_000;

/** One attempt's sending: rows of one chunk after the other, many at a time. */
export class SendRun {
  readonly #options: SendRunOptions;
  readonly #abort = new AbortController();
  readonly #open = new Set<OpenChunk>();
  readonly #closing: Promise<void>[] = [];
  readonly #left = new Map<OpenChunk, number>();
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
  waitingUntil: number | null = null;

  constructor(options: SendRunOptions) {
    this.#options = options;
    const { plan, logs } = options;
    const done = (chunk: number): boolean => (logs.get(chunk)?.done ?? null) !== null;
    this.#answered = plan.pending.some(done);
    this.rows = plan.rows - this.#todo.reduce((rows, chunk) => rows + plan.chunks[chunk]!, 0);
  }

  get #todo(): number[] {
    const { plan, logs } = this.#options;
    return plan.pending.filter((chunk) => (logs.get(chunk)?.done ?? null) === null);
  }

  /** Begins no further row; those under way get a moment. The first reason stays. */
  halt(error: unknown): void {
    if (this.#halted !== null) return;
    this.#halted = { error };
    this.#grace = setTimeout(() => this.#abort.abort(), GRACE_MS);
  }

  /**
   * Sends until everything has an outcome, or this attempt has to end.
   *
   * @returns whether nothing is left to send
   * @throws what `halt` was given, or a failure that calls for another attempt later
   */
  async run(): Promise<boolean> {
    const flushing = setInterval(() => {
      for (const chunk of this.#open) chunk.flush().catch((error) => this.halt(error));
    }, FLUSH_EVERY_MS);
    const end = { reached: false };
    try {
      const tasks = this.#tasks(end);
      const { concurrency } = this.#options.connection.settings.http;
      await Promise.all(Array.from({ length: concurrency }, () => this.#lane(tasks)));
      this.#judgeNotFound('end');
    } finally {
      clearInterval(flushing);
      clearTimeout(this.#grace);
      await Promise.all([...this.#open].map((chunk) => this.#close(chunk)));
      await Promise.all(this.#closing);
    }
    const { resource } = this.#options.input;
    if (this.#halted !== null) throw stopFailure(this.#halted.error, resource);
    if (!end.reached) return false;
    if (this.#doubtful === 0) return true;
    if (this.#settled > 0) return false;
    throw unsettled(resource, this.#doubtful);
  }

  async #lane(tasks: AsyncGenerator<Task>): Promise<void> {
    for await (const task of sharing(tasks)) {
      const { deps, connection, input } = this.#options;
      const { resource } = input;
      if (this.#halted !== null) continue;
      // A machine that stood still must not send what others take for lost by now.
      if (deps.now() - task.chunk.at > connection.settings.writeBack.unknownAfterMs) {
        this.halt(new Error('this worker stood still for too long; another attempt goes on'));
        continue;
      }
      const onWait = (untilMs: number): void => {
        this.waitingUntil = untilMs;
      };
      this.#hear(task, await sendRow(task.row, { connection, resource, signal: this.#abort.signal, onWait }));
    }
  }

  #hear(task: Task, sent: Sent): void {
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
        else if (this.#failures >= FAILURES_IN_A_ROW)
          this.halt(unsettled(this.#options.input.resource, this.#doubtful));
        this.#finished(task);
    }
  }

  /** 404 is about the row where the service knows the path; where it has never taken one, it is about the path. */
  #judgeNotFound(when: 'more' | 'end'): void {
    const { input, connection } = this.#options;
    if (this.#answered) {
      for (const { task, receipt } of this.#notFound) this.#settle(task, receipt);
    } else if (this.#notFound.length > 0 && (when === 'end' || this.#notFound.length >= NOT_FOUND_AT_MOST)) {
      const { path } = connection.settings.writeBack[input.resource];
      this.halt(nothingThere(input.resource, path, this.#notFound.length));
      for (const { task } of this.#notFound) this.#finished(task);
    } else {
      return;
    }
    this.#notFound = [];
  }

  #settle(task: Task, receipt: RowReceipt): void {
    task.chunk.settle(task.index, receipt);
    this.#settled++;
    this.rows++;
    this.#finished(task);
  }

  #finished({ chunk }: Task): void {
    const left = this.#left.get(chunk)! - 1;
    this.#left.set(chunk, left);
    if (left === 0) this.#closing.push(this.#close(chunk));
  }

  async #close(chunk: OpenChunk): Promise<void> {
    if (!this.#open.delete(chunk)) return;
    this.#left.delete(chunk);
    await chunk.close().catch((error) => this.halt(error));
  }

  /** The rows to send. The next chunk's intent is written while one is being sent. */
  async *#tasks(end: { reached: boolean }): AsyncGenerator<Task> {
    const { deps, endBefore } = this.#options;
    const todo = this.#todo;
    const mustEnd = (): boolean => this.#halted !== null || deps.now() > endBefore || deps.draining();
    let opening = this.#opened(todo[0]);
    for (let at = 0; at < todo.length; at++) {
      const tasks = await opening;
      opening = this.#opened(mustEnd() ? undefined : todo[at + 1]);
      for (const task of tasks) {
        if (mustEnd()) {
          await opening;
          return;
        }
        yield task;
      }
      if (mustEnd() && at + 1 < todo.length) {
        await opening;
        return;
      }
    }
    end.reached = this.#halted === null;
  }

  /** Opens a chunk for sending. What goes wrong halts the run, for nobody waits for this promise at once. */
  async #opened(number: number | undefined): Promise<Task[]> {
    if (number === undefined) return [];
    const { deps, connection, input, logs, token } = this.#options;
    try {
      const loaded = await loadChunk(connection.store, input.plan, number, logs);
      const chunk = new OpenChunk({
        store: connection.store,
        plan: input.plan,
        chunk: loaded,
        token,
        at: deps.now(),
      });
      const tasks = this.#sort(loaded, chunk);
      this.#left.set(chunk, tasks.length);
      if (tasks.length > 0) {
        await chunk.begin();
        this.#open.add(chunk);
      } else {
        await chunk.conclude();
      }
      return tasks;
    } catch (error) {
      this.halt(error);
      return [];
    }
  }

  /** Which rows of a chunk are to be sent; the others are settled here, or stay unknown. */
  #sort({ rows, states }: LoadedChunk, chunk: OpenChunk): Task[] {
    const { unknown } = this.#options.input;
    const tasks: Task[] = [];
    for (const [index, row] of rows.entries()) {
      const state = states.get(index);
      if (!isPending(row) || (state?.receipt ?? null) !== null) {
        this.rows++;
        continue;
      }
      const isUnknown = this.#isUnknown(row, state?.sentAt ?? null);
      if (!isUnknown || unknown === 'resend') tasks.push({ chunk, index, row });
      else if (unknown === 'skip') {
        const message = 'it is not known whether it was written; not sent again, as --unknown skip says';
        chunk.settle(index, { outcome: 'skipped', status: null, id: null, message });
        this.rows++;
      }
    }
    return tasks;
  }

  #isUnknown(row: ChunkRow, sentAt: number | null): boolean {
    const { deps, connection } = this.#options;
    const times = [row.sentAt, sentAt].filter((time) => time !== null);
    return times.length > 0 && deps.now() - Math.min(...times) > connection.settings.writeBack.unknownAfterMs;
  }
}

/** Lets many take from one generator: the first to leave does not end it for the others. */
function sharing<T>(source: AsyncGenerator<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) };
}
