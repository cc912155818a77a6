import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { SortKey } from '../rows/row.js';
import type { ObjectStore } from '../store/index.js';
import { type PackedBlocks, sliceBlocks } from './framing.js';
import { BLOCK_BYTES, type PartOptions, PartWriter } from './part-writer.js';

/** Receives sorted rows, one by one or as compressed blocks. */
export interface RowOutput {
  add(key: SortKey, row: ByteString): void;
  take(packed: PackedBlocks): Promise<void>;
  /** Whether complete blocks wait for `flush`. */
  readonly mustFlush: boolean;
  /** Writes the complete blocks. Await it whenever `mustFlush` is set, so that memory stays bounded. */
  flush(): Promise<void>;
}

interface SeriesOptions extends PartOptions {
  /** Key of part `n` of this series, from 0. */
  readonly partKey: (n: number) => ObjectKey;
  /** The most parts. The last part takes all remaining rows. */
  readonly maxParts: number;
  /** A part ends at this size, in bytes before compression. */
  readonly partBytes: number;
  /** A block ends at this size, in bytes before compression. Default: `BLOCK_BYTES`. */
  readonly blockBytes?: number;
}

interface RowBatch {
  readonly rows: ByteString[];
  readonly first: SortKey;
  last: SortKey;
  bytes: number;
}

/** Writes sorted rows to a series of non-empty parts. */
export class PartSeries implements RowOutput {
  readonly #finished: PublishedPart[] = [];
  #part: PartWriter | null = null;
  #full: RowBatch[] = [];
  #open: RowBatch | null = null;

  constructor(
    private readonly store: ObjectStore,
    private readonly options: SeriesOptions,
  ) {}

  add(key: SortKey, row: ByteString): void {
    const open = this.#open;
    if (open === null) {
      this.#open = { rows: [row], first: key, last: key, bytes: row.length };
      return;
    }
    open.rows.push(row);
    open.last = key;
    open.bytes += row.length;
    if (open.bytes >= (this.options.blockBytes ?? BLOCK_BYTES)) {
      this.#full.push(open);
      this.#open = null;
    }
  }

  async take(packed: PackedBlocks): Promise<void> {
    this.#closeBlock();
    await this.flush();
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

  get mustFlush(): boolean {
    return this.#full.length > 0;
  }

  async flush(): Promise<void> {
    const full = this.#full;
    if (full.length === 0) return;
    this.#full = [];
    for (const { rows, first, last, bytes } of full) {
      const part = await this.#current();
      const fill = (into: Buffer): void => {
        let at = 0;
        for (const row of rows) at += into.write(row, at, 'latin1');
      };
      await part.append({ text: { bytes, fill }, rows: rows.length, first, last });
    }
  }

  #closeBlock(): void {
    if (this.#open !== null) this.#full.push(this.#open);
    this.#open = null;
  }

  /** The part for the next block. A full part is finished first. */
  async #current(): Promise<PartWriter> {
    if (this.#part !== null && this.#isFull(this.#part.rawBytes)) {
      this.#finished.push(await this.#part.finish());
      this.#part = null;
    }
    const { partKey } = this.options;
    this.#part ??= new PartWriter(this.store, partKey(this.#finished.length), this.options);
    return this.#part;
  }

  #isFull(rawBytes: number): boolean {
    const { partBytes, maxParts } = this.options;
    return rawBytes >= partBytes && this.#finished.length + 1 < maxParts;
  }

  /** Completes the last part and returns all parts; none if there were no rows. */
  async finish(): Promise<PublishedPart[]> {
    this.#closeBlock();
    await this.flush();
    if (this.#part !== null) this.#finished.push(await this.#part.finish());
    this.#part = null;
    return this.#finished;
  }

  /** Aborts the open upload. Never throws. */
  async abort(): Promise<void> {
    await this.#part?.abort();
    this.#part = null;
  }
}
