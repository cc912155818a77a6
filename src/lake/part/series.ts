import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { SortKey } from '../row.js';
import type { ObjectStore } from '../store/index.js';
import { type PackedBlocks, sliceBlocks } from './packed-blocks.js';
import type { PartOptions, WrittenPart } from './writer.js';
import { BLOCK_BYTES, PartWriter } from './writer.js';

/** Where sorted rows go, one by one or as packed blocks. */
export interface RowOutput {
  add(key: SortKey, row: ByteString): void;
  take(packed: PackedBlocks): Promise<void>;
  /** Writes out what has gathered, where it is enough for a block. To be awaited every few thousand rows. */
  relieve(): Promise<void>;
}

export interface SeriesOptions extends PartOptions {
  /** Key of the n-th part of this series, from 0. */
  readonly partKey: (n: number) => ObjectKey;
  /** At most this many parts; the last one takes the rest. */
  readonly maxParts: number;
  /** A part ends when it holds this much before compression, in bytes. */
  readonly partBytes: number;
}

interface Gathered {
  readonly rows: ByteString[];
  readonly first: SortKey;
  last: SortKey;
  bytes: number;
}

/** Writes sorted rows to a series of parts, none of them empty. */
export class PartSeries implements RowOutput {
  readonly #store: ObjectStore;
  readonly #options: SeriesOptions;
  readonly #finished: WrittenPart[] = [];
  #part: PartWriter | null = null;
  #full: Gathered[] = [];
  #open: Gathered | null = null;

  constructor(store: ObjectStore, options: SeriesOptions) {
    this.#store = store;
    this.#options = options;
  }

  add(key: SortKey, row: ByteString): void {
    const open = this.#open;
    if (open === null) {
      this.#open = { rows: [row], first: key, last: key, bytes: row.length };
      return;
    }
    open.rows.push(row);
    open.last = key;
    open.bytes += row.length;
    if (open.bytes >= BLOCK_BYTES) {
      this.#full.push(open);
      this.#open = null;
    }
  }

  async take(packed: PackedBlocks): Promise<void> {
    this.#closeBlock();
    await this.relieve();
    const { blocks } = packed;
    for (let from = 0; from < blocks.length; ) {
      const part = await this.#current();
      let { rawBytes } = part;
      let to = from;
      do rawBytes += blocks[to++]!.rawBytes;
      while (to < blocks.length && !this.#isFull(rawBytes));
      await part.take(sliceBlocks(packed, from, to));
      from = to;
    }
  }

  async relieve(): Promise<void> {
    const full = this.#full;
    if (full.length === 0) return;
    this.#full = [];
    for (const { rows, first, last } of full) {
      const part = await this.#current();
      await part.append({ text: rows.join('') as ByteString, rows: rows.length, first, last });
    }
  }

  #closeBlock(): void {
    if (this.#open !== null) this.#full.push(this.#open);
    this.#open = null;
  }

  /** The part that takes the next block; a full one is finished first. */
  async #current(): Promise<PartWriter> {
    if (this.#part !== null && this.#isFull(this.#part.rawBytes)) {
      this.#finished.push(await this.#part.finish());
      this.#part = null;
    }
    const { partKey } = this.#options;
    this.#part ??= new PartWriter(this.#store, partKey(this.#finished.length), this.#options);
    return this.#part;
  }

  #isFull(rawBytes: number): boolean {
    const { partBytes, maxParts } = this.#options;
    return rawBytes >= partBytes && this.#finished.length + 1 < maxParts;
  }

  /** Completes the last part. A series without rows has none. */
  async finish(): Promise<WrittenPart[]> {
    this.#closeBlock();
    await this.relieve();
    if (this.#part !== null) this.#finished.push(await this.#part.finish());
    this.#part = null;
    return this.#finished;
  }

  /** Leaves no upload open. Never throws. */
  async abort(): Promise<void> {
    await this.#part?.abort();
    this.#part = null;
  }
}
