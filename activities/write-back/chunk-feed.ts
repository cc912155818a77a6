import type { SendRowsInput } from '../../src/core/write-back-contract.js';
import { isPending, type PlanFile } from '../../src/write-back/index.js';
import type { ActivityDeps, OpenConnection } from '../deps.js';
import { type LoadedChunk, type LogIndex, loadChunk } from './logs.js';
import { OpenChunk, type Task } from './open-chunk.js';

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

export interface FeedEvents {
  /** The intent to send a chunk is in the lake. */
  readonly onOpen: (chunk: OpenChunk, tasks: number) => void;
  /** A row turned out to have an outcome already. */
  readonly onKnown: () => void;
  /** Whether no further row may be begun. */
  readonly mustEnd: () => boolean;
}

/** The rows that an attempt sends, chunk by chunk, each chunk only after the intent to send it is durable. */
export class ChunkFeed {
  readonly #options: SendRunOptions;
  readonly #events: FeedEvents;
  /** Chunks that are not done. */
  readonly todo: readonly number[];

  constructor(options: SendRunOptions, events: FeedEvents) {
    const { plan, logs } = options;
    this.#options = options;
    this.#events = events;
    this.todo = plan.pending.filter((chunk) => (logs.get(chunk)?.done ?? null) === null);
  }

  /**
   * The next chunk is opened while one is being sent.
   *
   * @returns whether the last row has been given out
   * @throws StoreError
   */
  async *tasks(): AsyncGenerator<Task, boolean> {
    const { mustEnd } = this.#events;
    let opening = this.#open(this.todo[0]);
    for (let at = 0; at < this.todo.length; at++) {
      const tasks = await opening;
      opening = this.#open(mustEnd() ? undefined : this.todo[at + 1]);
      // It is awaited in the next round; until then nobody hears of its failure.
      opening.catch(() => {});
      for (const task of tasks) {
        if (mustEnd()) return await opening.then(() => false);
        yield task;
      }
      if (mustEnd() && at + 1 < this.todo.length) return await opening.then(() => false);
    }
    return true;
  }

  async #open(number: number | undefined): Promise<Task[]> {
    if (number === undefined) return [];
    const { deps, connection, input, logs, token } = this.#options;
    const { store } = connection;
    const loaded = await loadChunk(store, input.plan, number, logs);
    const chunk = new OpenChunk({ store, plan: input.plan, chunk: loaded, token, at: deps.now() });
    const tasks = this.#sort(loaded, chunk);
    if (tasks.length === 0) {
      await chunk.conclude();
      return [];
    }
    await chunk.begin();
    this.#events.onOpen(chunk, tasks.length);
    return tasks;
  }

  /** Which rows of a chunk are to be sent; the others are settled here, or stay unknown. */
  #sort({ rows, states }: LoadedChunk, chunk: OpenChunk): Task[] {
    const { unknown } = this.#options.input;
    const tasks: Task[] = [];
    for (const [index, row] of rows.entries()) {
      const state = states.get(index);
      if (!isPending(row) || (state?.receipt ?? null) !== null) {
        this.#events.onKnown();
        continue;
      }
      const times = [row.sentAt, state?.sentAt ?? null].filter((time) => time !== null);
      const inDoubt = times.length > 0;
      const isUnknown = inDoubt && this.#isForgotten(Math.min(...times));
      if (!isUnknown || unknown === 'resend') tasks.push({ chunk, index, row, inDoubt });
      else if (unknown === 'skip') {
        const message = 'it is not known whether it was written; not sent again, as --unknown skip says';
        chunk.settle(index, { outcome: 'skipped', status: null, id: null, message });
        this.#events.onKnown();
      }
    }
    return tasks;
  }

  /** Whether the service may not know a key any more that it was sent then. */
  #isForgotten(sentAt: number): boolean {
    const { deps, connection } = this.#options;
    return deps.now() - sentAt > connection.settings.writeBack.unknownAfterMs;
  }
}
