import type { SendRowsInput } from '../../src/core/contract/write-back.js';
import { isPending } from '../../src/write-back/index.js';
import type { Turn } from '../../src/write-back/ledger/index.js';
import type { ActivityDeps, OpenConnection } from '../shared/deps.js';
import { transientFailure } from '../shared/failures.js';
import { type LoadedChunk, type LogIndex, loadChunk } from './attempt-logs.js';
import { OpenChunk, type RowTask } from './open-chunk.js';
import type { StoredPlan } from './stored-plans.js';

export interface SendAttemptOptions {
  readonly deps: ActivityDeps;
  readonly connection: OpenConnection;
  readonly input: SendRowsInput;
  readonly plan: StoredPlan;
  readonly logs: LogIndex;
  readonly turn: Turn;
  /** Makes the log names of this attempt unique. */
  readonly token: string;
  /** Milliseconds since 1970 after which the attempt starts no further row. */
  readonly endBefore: number;
}

interface FeedEvents {
  /** The open log of a chunk is in the lake, so its rows may be sent. */
  readonly onOpen: (chunk: OpenChunk, tasks: number) => void;
  /** A row has an outcome and is not sent. */
  readonly onSettled: () => void;
  /** Whether the attempt must start no further row. */
  readonly mustEnd: () => boolean;
}

/** Provides the rows that an attempt sends, chunk by chunk. The rows of a chunk follow only after its open log is durable. */
export class ChunkFeed {
  readonly #options: SendAttemptOptions;
  readonly #events: FeedEvents;
  /** Chunks without a complete log. */
  readonly todo: readonly number[];
  /** How many chunks of `todo` were opened, or are being opened. */
  #begun = 0;
  #opening: Promise<readonly RowTask[]> | null = null;
  #tasks: readonly RowTask[] = [];
  /** Index of the next row in `#tasks`. */
  #at = 0;
  #advancing: Promise<boolean> | null = null;

  constructor(options: SendAttemptOptions, events: FeedEvents) {
    const { plan, logs, turn } = options;
    this.#options = options;
    this.#events = events;
    this.todo = plan.file.pending.filter(
      (chunk) => turn.sends(chunk) && (logs.get(chunk)?.done ?? []).length === 0,
    );
  }

  /** Whether all rows were taken. */
  get reachedEnd(): boolean {
    return this.#begun === this.todo.length && this.#opening === null && this.#at >= this.#tasks.length;
  }

  /** Takes the next row of the current chunk; `null` if there is none, or if the attempt must end. */
  take(): RowTask | null {
    if (this.#at >= this.#tasks.length || this.#events.mustEnd()) return null;
    return this.#tasks[this.#at++]!;
  }

  /**
   * Waits for the next chunk with rows. All senders share one wait.
   *
   * @returns whether there are rows to take; otherwise `reachedEnd` tells whether all were taken
   * @throws StoreError
   */
  advance(): Promise<boolean> {
    this.#advancing ??= this.#advance().finally(() => {
      this.#advancing = null;
    });
    return this.#advancing;
  }

  async #advance(): Promise<boolean> {
    while (this.#at >= this.#tasks.length) {
      const opening = this.#opening ?? this.#openNext();
      if (opening === null) return false;
      // Kept if it fails, so that no later call passes this chunk over.
      this.#opening = opening;
      this.#tasks = await opening;
      this.#at = 0;
      // The next chunk is opened while the current one is being sent.
      this.#opening = this.#openNext();
      // Awaited in the next iteration; until then a failure must not count as unhandled.
      this.#opening?.catch(() => {});
    }
    if (!this.#events.mustEnd()) return true;
    // A log must not be closed while it is being opened.
    await this.#opening;
    return false;
  }

  #openNext(): Promise<readonly RowTask[]> | null {
    if (this.#begun === this.todo.length || this.#events.mustEnd()) return null;
    return this.#open(this.todo[this.#begun++]!);
  }

  async #open(number: number): Promise<readonly RowTask[]> {
    const { deps, connection, plan, logs, token } = this.#options;
    const { store } = connection;
    const loaded = await loadChunk(store, plan, number, logs);
    const chunk = new OpenChunk({ store, plan: plan.key, chunk: loaded, token, at: deps.now() });
    const tasks = this.#selectRows(loaded, chunk);
    if (tasks.length === 0) {
      await chunk.conclude();
      return [];
    }
    await chunk.begin();
    await this.#checkTurn(chunk);
    this.#events.onOpen(chunk, tasks.length);
    return tasks;
  }

  /**
   * Checks that the turn of the batch has not ended. A worker that was cut off can outlive its batch. The log of the chunk is
   * in the lake, so whoever ended the turn after this check sees the log.
   */
  async #checkTurn(chunk: OpenChunk): Promise<void> {
    const { connection, input, turn } = this.#options;
    if (turn.fence === null || (await connection.store.head(turn.fence)) === null) return;
    // No row of the chunk was sent.
    await chunk.close();
    throw transientFailure(`${input.resource}: the turn of this batch has ended, so it sends no further row`);
  }

  /** Selects the rows of a chunk to send. With `--unknown skip`, rows in doubt are settled as skipped. */
  #selectRows({ rows, states }: LoadedChunk, chunk: OpenChunk): RowTask[] {
    const { connection, input, turn } = this.#options;
    const { unknown } = input;
    const tasks: RowTask[] = [];
    for (const [index, row] of rows.entries()) {
      const state = states.get(index);
      if (!isPending(row) || (state?.receipt ?? null) !== null || turn.verdictOf(row.row) !== null) {
        this.#events.onSettled();
        continue;
      }
      const times = [row.sentAt, state?.sentAt ?? null].filter((time) => time !== null);
      const firstSent = times.length === 0 ? null : Math.min(...times);
      const isUnknown = firstSent !== null && this.#isForgotten(firstSent);
      if (!isUnknown || unknown === 'resend') {
        const before = firstSent === null ? 'never' : isUnknown ? 'forgotten' : 'remembered';
        const since = before === 'remembered' ? Math.min(firstSent ?? chunk.at, chunk.at) : chunk.at;
        const notAfter = since + connection.settings.writeBack.unknownAfterMs;
        tasks.push({ chunk, index, row, before, notAfter });
      } else if (unknown === 'skip') {
        const message = 'it is unknown whether the row was written; not sent again because of --unknown skip';
        chunk.settle(index, { outcome: 'skipped', status: null, id: null, message });
        this.#events.onSettled();
      }
    }
    return tasks;
  }

  /** Whether the service may have forgotten the idempotency key of a request that was sent at this time. */
  #isForgotten(sentAt: number): boolean {
    const { deps, connection } = this.#options;
    return deps.now() - sentAt > connection.settings.writeBack.unknownAfterMs;
  }
}
