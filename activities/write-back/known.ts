import { inParallel } from '../../src/core/in-parallel.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  type ChunkRow,
  chunkKey,
  decodeChunk,
  HashTable,
  type RowReceipt,
  textHash,
} from '../../src/write-back/index.js';
import { type LoadedChunk, type LogIndex, loadChunk, readLogIndex } from './logs.js';
import type { KnownPlan } from './plans.js';

/** What earlier plans of a batch have come to for a row. */
export interface KnownRow {
  readonly content: string;
  readonly receipt: RowReceipt | null;
  /** It may have been sent then, to no known end; `null`: it was not sent. */
  readonly sentAt: number | null;
}

/** Chunks that are held at a time: rows of two inputs mostly come in the same order. */
const HELD_CHUNKS = 8;

/** The rows of earlier plans, by their keys. Holds a place for each, some 35 bytes, and a few chunks. */
export class KnownRows {
  readonly #store: ObjectStore;
  readonly #chunks: { readonly plan: KnownPlan; readonly logs: LogIndex; readonly number: number }[] = [];
  readonly #places: HashTable;
  readonly #held = new Map<number, LoadedChunk>();

  private constructor(store: ObjectStore, rows: number) {
    this.#store = store;
    this.#places = HashTable.sized(2, rows);
  }

  static async read(
    store: ObjectStore,
    plans: readonly KnownPlan[],
    signal: AbortSignal,
  ): Promise<KnownRows> {
    // An input that comes again is mostly the same rows.
    const known = new KnownRows(store, Math.max(...plans.map(({ file }) => file.rows)));
    for (const plan of plans) {
      const logs = await readLogIndex(store, plan.key);
      const numbers = [...plan.file.chunks.keys()];
      for (let from = 0; from < numbers.length; from += HELD_CHUNKS) {
        signal.throwIfAborted();
        const some = numbers.slice(from, from + HELD_CHUNKS);
        const chunks = await inParallel(some, HELD_CHUNKS, (number) =>
          store.read(chunkKey(plan.key, number)),
        );
        for (const [at, chunk] of chunks.entries()) {
          known.#chunks.push({ plan, logs, number: some[at]! });
          for (const [index, row] of decodeChunk(chunk).entries())
            known.#remember(row, known.#chunks.length, index);
        }
      }
    }
    return known;
  }

  /** What is known of a row; `null` for a new one. */
  async find(key: string): Promise<KnownRow | null> {
    const entry = this.#places.find(textHash(key));
    if (entry === -1) return null;
    const { rows, states } = await this.#chunk(this.#places.get(entry, 0) - 1);
    const at = this.#places.get(entry, 1);
    const row = rows[at]!;
    const state = states.get(at);
    const receipt = row.receipt ?? state?.receipt ?? null;
    const times = [row.sentAt, state?.sentAt ?? null].filter((time) => time !== null);
    const sentAt = receipt !== null || times.length === 0 ? null : Math.min(...times);
    return { content: row.content, receipt, sentAt };
  }

  /** The newest plan knows best; but what one sets aside says nothing of a row that an earlier one has sent. */
  #remember(row: ChunkRow, chunk: number, at: number): void {
    const hash = textHash(row.key);
    if (row.verdict !== null && this.#places.find(hash) !== -1) return;
    const entry = this.#places.entry(hash);
    this.#places.set(entry, 0, chunk);
    this.#places.set(entry, 1, at);
  }

  async #chunk(at: number): Promise<LoadedChunk> {
    const held = this.#held.get(at);
    if (held !== undefined) return held;
    const { plan, number, logs } = this.#chunks[at]!;
    const loaded = await loadChunk(this.#store, plan.key, number, logs);
    if (this.#held.size >= HELD_CHUNKS) this.#held.delete(this.#held.keys().next().value!);
    this.#held.set(at, loaded);
    return loaded;
  }
}
