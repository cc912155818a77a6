import type { ObjectKey } from '../../src/core/brands.js';
import { allDone } from '../../src/core/in-parallel.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  CHUNK_BYTES,
  type ChunkRow,
  chunkKey,
  encodeChunk,
  encodeChunkRow,
  isPending,
} from '../../src/write-back/index.js';

/** Number of chunks that are written at the same time. */
const CONCURRENCY = 4;

/** Writes the rows of a plan, chunk by chunk. */
export class ChunkWriter {
  readonly #store: ObjectStore;
  readonly #plan: ObjectKey;
  /** Names the attempt that writes the chunks. */
  readonly name: string;
  readonly #rowsAChunk: number;
  readonly #chunks: number[] = [];
  readonly #pending: number[] = [];
  readonly #writing = new Set<Promise<void>>();
  #lines: Buffer[] = [];
  #bytes = 0;
  #hasPending = false;

  constructor(store: ObjectStore, plan: ObjectKey, name: string, rowsAChunk: number) {
    this.#store = store;
    this.#plan = plan;
    this.name = name;
    this.#rowsAChunk = rowsAChunk;
  }

  /** Adds a row. Returns a promise only if the next row must wait for it. */
  add(row: ChunkRow): Promise<void> | undefined {
    const line = encodeChunkRow(row);
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#hasPending ||= isPending(row);
    const isFull = this.#lines.length >= this.#rowsAChunk || this.#bytes >= CHUNK_BYTES;
    return isFull ? this.#next() : undefined;
  }

  /** Writes the last chunk. Returns the row count of each chunk, and the chunks with rows to send. */
  async finish(): Promise<{ chunks: readonly number[]; pending: readonly number[] }> {
    if (this.#lines.length > 0) await this.#next();
    await allDone([...this.#writing]);
    return { chunks: this.#chunks, pending: this.#pending };
  }

  async #next(): Promise<void> {
    const number = this.#chunks.push(this.#lines.length) - 1;
    if (this.#hasPending) this.#pending.push(number);
    const body = encodeChunk(this.#lines);
    this.#lines = [];
    this.#bytes = 0;
    this.#hasPending = false;
    const writing: Promise<void> = this.#store
      .write(chunkKey(this.#plan, this.name, number), body, { contentType: 'application/x-ndjson' })
      .then(() => void this.#writing.delete(writing));
    writing.catch(() => {});
    this.#writing.add(writing);
    if (this.#writing.size < CONCURRENCY) return;
    // A failed attempt must not keep writing.
    await Promise.race(this.#writing).catch(() => allDone([...this.#writing]));
  }
}
