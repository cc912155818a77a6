import type { ObjectKey } from '../../src/core/brands.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  type ChunkLog,
  type ChunkRow,
  isPending,
  type LoggedRow,
  logKey,
  type RowReceipt,
} from '../../src/write-back/index.js';
import { writeDocument } from '../documents.js';
import type { LoadedChunk } from './logs.js';

export interface OpenChunkOptions {
  readonly store: ObjectStore;
  readonly plan: ObjectKey;
  readonly chunk: LoadedChunk;
  /** Tells this attempt's log from others'. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** One attempt's account of a chunk that it sends, kept in the lake. */
export class OpenChunk {
  readonly number: number;
  readonly at: number;
  readonly #options: OpenChunkOptions;
  readonly #heard = new Map<number, LoggedRow>();
  #dirty = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: OpenChunkOptions) {
    this.#options = options;
    this.number = options.chunk.number;
    this.at = options.at;
  }

  /** Makes the intent to send durable. */
  begin(): Promise<void> {
    return this.#write('open', { at: this.at, closed: false, rows: [...this.#heard.values()] });
  }

  /** What became of a row. @param index of the row in the chunk */
  settle(index: number, { outcome, status, id, message }: RowReceipt): void {
    this.#heard.set(index, [index, outcome, status, id, message]);
    this.#dirty = true;
  }

  /** A row was sent, and nothing settled what became of it. */
  tried(index: number, status: number | null, message: string): void {
    this.#heard.set(index, [index, 'tried', status, null, message]);
    this.#dirty = true;
  }

  /** Writes what was heard since the last time. */
  async flush(): Promise<void> {
    if (!this.#dirty) return this.#writing;
    this.#dirty = false;
    return this.begin();
  }

  /** Ends the account of a chunk of which nothing was sent; there is one only where it says something. */
  async conclude(): Promise<void> {
    if (this.#heard.size > 0 || this.#receipts() !== null) await this.close();
  }

  /** Ends the account: rows that are not in it were not sent. */
  close(): Promise<void> {
    const rows = this.#receipts();
    if (rows !== null) return this.#write('done', { at: this.at, closed: true, rows });
    return this.#write('open', { at: this.at, closed: true, rows: [...this.#heard.values()] });
  }

  /** Of every row that was to be sent, by any attempt; `null` while one is missing. */
  #receipts(): LoggedRow[] | null {
    const { rows, states } = this.#options.chunk;
    const receipts: LoggedRow[] = [];
    for (const [index, row] of rows.entries()) {
      if (!isPending(row)) continue;
      const heard = this.#heard.get(index);
      const before = states.get(index)?.receipt ?? null;
      if (heard !== undefined && heard[1] !== 'tried') receipts.push(heard);
      else if (before !== null)
        receipts.push([index, before.outcome, before.status, before.id, before.message]);
      else return null;
    }
    return receipts;
  }

  /** One write at a time, in order. */
  #write(state: 'open' | 'done', log: ChunkLog): Promise<void> {
    const { store, plan, token } = this.#options;
    const key = logKey(plan, this.number, token, state);
    const writing = this.#writing.then(() => writeDocument(store, key, log));
    this.#writing = writing.catch(() => {});
    return writing;
  }
}

/** A row that is to be sent. */
export interface Task {
  readonly chunk: OpenChunk;
  /** In the chunk. */
  readonly index: number;
  readonly row: ChunkRow;
  /** It was sent before, and nobody heard what became of it. */
  readonly inDoubt: boolean;
}
