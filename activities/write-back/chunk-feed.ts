import type { EpochMs } from '../../src/core/brands.js';
import { transientFailure } from '../../src/run/failures.js';
import { whileRemembered } from '../../src/write-back/key-lifetime.js';
import { NOT_SENT_AGAIN } from '../../src/write-back/ledger/turn.js';
import {
  type ChunkRow,
  isPending,
  knownOf,
  type RowReceipt,
  type RowState,
} from '../../src/write-back/plan-file.js';
import { latestOf } from '../../src/write-back/request-age.js';
import { OpenChunk, type RowTask, type SendAttemptOptions } from './open-chunk.js';
import { loadChunk } from './stored-batch.js';

interface FeedEvents {
  /** The open log of a chunk is in the lake, so its rows may be sent. */
  readonly onOpen: (chunk: OpenChunk, tasks: number) => void;
  /** A row has an outcome and is not sent. @param receipt `null`: the service has not answered it */
  readonly onSettled: (receipt: RowReceipt | null) => void;
  /** Whether the attempt must start no further row. */
  readonly mustEnd: () => boolean;
}

/** What an attempt does with a row of a chunk. */
type Selected = 'settled' | 'unclear' | 'skipped' | Omit<RowTask, 'chunk'>;

/** `new`: only rows that were never sent. */
type Which = 'any' | 'new';

/** Chunks with rows that wait until no other chunk is opened. */
const MAX_OPEN_CHUNKS = 16;

/** Provides the rows that an attempt sends, chunk by chunk. The rows of a chunk follow only after its open log is durable. */
export class ChunkFeed {
  readonly #options: SendAttemptOptions;
  readonly #events: FeedEvents;
  /** Chunks without a complete log. */
  readonly todo: readonly number[];
  /** Chunks of `todo` that were not opened yet. */
  readonly #later: number[];
  #opening: Promise<RowTask[]> | null = null;
  /** The rows of open chunks that are left. */
  readonly #tasks: RowTask[] = [];
  #advancing: Promise<boolean> | null = null;

  constructor(options: SendAttemptOptions, events: FeedEvents) {
    const { plan, logs, turn } = options;
    this.#options = options;
    this.#events = events;
    this.todo = plan.file.pending.filter(
      (chunk) => turn.sends(chunk) && (logs.get(chunk)?.done ?? []).length === 0,
    );
    this.#later = [...this.todo];
  }

  /** Whether all rows were taken. */
  get reachedEnd(): boolean {
    return this.#later.length === 0 && this.#opening === null && this.#tasks.length === 0;
  }

  /** Takes the next row of the open chunks; `null` if there is none, or if the attempt must end. */
  take(which: Which): RowTask | null {
    const at = this.#find(which);
    return at === -1 || this.#events.mustEnd() ? null : this.#tasks.splice(at, 1)[0]!;
  }

  /**
   * Waits for the next chunk with rows. All senders share one wait.
   *
   * @returns whether there are rows to take; otherwise `reachedEnd` tells whether all were taken
   * @throws StoreError
   */
  advance(which: Which): Promise<boolean> {
    this.#advancing ??= this.#advance(which).finally(() => {
      this.#advancing = null;
    });
    return this.#advancing;
  }

  /** Waits for a chunk that is being opened when the attempt ends: its log must be closed too. */
  async end(): Promise<void> {
    await Promise.allSettled([this.#advancing, this.#opening]);
  }

  /**
   * Takes a row that is this share of the rest away from its beginning, to find out whether the service accepts any. Rows that
   * were never sent come first: their answers show more, and those of rows in doubt may be the same as before.
   *
   * @param share from 0 to 1
   * @returns `null` if none is left, or if the attempt must end
   * @throws StoreError
   */
  async takeAt(share: number): Promise<RowTask | null> {
    // Otherwise it could open a chunk at the same time, and a row would be taken twice.
    await this.#advancing;
    // Otherwise the next chunk would be neither open nor closed.
    const next = (await this.#opening) ?? [];
    this.#opening = null;
    this.#tasks.push(...next);
    while (!this.#events.mustEnd()) {
      const rowsOf = (number: number): number => this.#options.plan.file.chunks[number]!;
      const later = this.#isFull() ? [] : this.#later;
      const rest = this.#tasks.length + later.reduce((sum, number) => sum + rowsOf(number), 0);
      let at = Math.min(rest - 1, Math.floor(share * rest));
      if (at < this.#tasks.length) return this.#takeNear(at);
      at -= this.#tasks.length;
      // The other rows of this chunk follow after those of the chunks that are open.
      const chunk = later.findIndex((number) => {
        at -= rowsOf(number);
        return at < 0;
      });
      const tasks = await this.#open(this.#later.splice(chunk, 1)[0]!);
      const near = this.#tasks.length + Math.max(0, tasks.length + at);
      this.#tasks.push(...tasks);
      if (tasks.length > 0 && !this.#events.mustEnd()) return this.#takeNear(near);
    }
    return null;
  }

  /** Takes the row at this place, or the next one that was never sent. */
  #takeNear(at: number): RowTask | null {
    const after = this.#find('new', at);
    const place = after === -1 ? this.#find('new') : after;
    return this.#tasks.splice(place === -1 ? at : place, 1)[0] ?? null;
  }

  /** The place of the next row, or -1. @param from place where to begin */
  #find(which: Which, from = 0): number {
    return this.#tasks.findIndex(
      ({ before }, place) => place >= from && (which === 'any' || before === 'never'),
    );
  }

  #isFull(): boolean {
    return new Set(this.#tasks.map(({ chunk }) => chunk)).size >= MAX_OPEN_CHUNKS;
  }

  async #advance(which: Which): Promise<boolean> {
    while (this.#find(which) === -1) {
      const opening = this.#isFull() ? null : (this.#opening ?? this.#openNext());
      if (opening === null) return false;
      // Kept if it fails, so that no later call passes this chunk over.
      this.#opening = opening;
      this.#tasks.push(...(await opening));
      // The next chunk is opened while the current one is being sent.
      this.#opening = this.#openNext();
      // Awaited in the next iteration; until then a failure must not count as unhandled.
      this.#opening?.catch(() => {});
    }
    return !this.#events.mustEnd();
  }

  #openNext(): Promise<RowTask[]> | null {
    if (this.#later.length === 0 || this.#events.mustEnd()) return null;
    return this.#open(this.#later.shift()!);
  }

  async #open(number: number): Promise<RowTask[]> {
    const { connection, plan, logs } = this.#options;
    const loaded = await loadChunk(connection.store, plan, number, logs);
    const chunk = new OpenChunk(this.#options, loaded);
    const tasks: RowTask[] = [];
    for (const [index, row] of loaded.rows.entries()) {
      const selected = this.#select(row, index, loaded.states.get(index), latestOf(chunk.at));
      if (typeof selected === 'object') tasks.push({ chunk, ...selected });
      else if (selected === 'skipped') {
        chunk.settle(index, { outcome: 'skipped', status: null, id: null, message: NOT_SENT_AGAIN });
        this.#events.onSettled(null);
      } else if (selected === 'settled')
        this.#events.onSettled(knownOf(row, loaded.states.get(index)).receipt);
    }
    if (tasks.length === 0) {
      await chunk.conclude();
      return [];
    }
    await chunk.begin();
    if (await this.hasTurnEnded()) {
      // No row of the chunk was sent.
      await chunk.close();
      throw this.turnEnded();
    }
    this.#events.onOpen(chunk, tasks.length);
    return tasks;
  }

  /**
   * Whether the turn of the batch has ended. A worker that was cut off can outlive its batch. The log of the chunk is
   * in the lake, so whoever ended the turn after this check sees the log.
   */
  async hasTurnEnded(): Promise<boolean> {
    const { connection, turn } = this.#options;
    return turn.fence !== null && (await connection.store.head(turn.fence)) !== null;
  }

  turnEnded(): Error {
    const { resource } = this.#options.input;
    return transientFailure(`${resource}: the turn of this batch has ended, so it sends no further row`);
  }

  /** @param now by the latest clock */
  #select(row: ChunkRow, index: number, state: RowState | undefined, now: EpochMs): Selected {
    const { connection, input, turn, sending } = this.#options;
    const { receipt } = knownOf(row, state);
    if (!isPending(row) || receipt !== null || turn.verdictOf(row.row) !== null) return 'settled';
    const { unknownAfterMs } = connection.settings.writeBack;
    const { unknown, run } = input;
    const fate = whileRemembered(row, state, { unknownAfterMs, repeat: sending.repeat, unknown, run, now });
    return typeof fate === 'string' ? fate : { index, row, failing: state?.failing ?? null, ...fate };
  }
}
