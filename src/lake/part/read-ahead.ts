import type { Block } from './index-file.js';

/** A reader that can request blocks before they are needed. */
export interface AheadReader {
  /** The first block that has not been requested; `null` if there is none, or if the last request was made ahead. */
  readonly nextAhead: Block | null;
  /** Whether blocks that were requested ahead wait for the reader. */
  readonly isAhead: boolean;
  requestAhead(): void;
}

/** Requests at a time. They hide the latency of the store without a second buffer for each reader. */
export const READ_AHEAD = 8;

/**
 * Reads ahead for readers whose rows are merged by key. The merge needs blocks in the order of their first keys, so the next
 * request is for the reader whose next block has the smallest one (forecasting: Knuth, The Art of Computer Programming, 5.4.6).
 */
export class ReadAhead {
  readonly #readers: AheadReader[] = [];

  add(reader: AheadReader): void {
    this.#readers.push(reader);
  }

  /** Makes requests until `READ_AHEAD` wait for their readers. Call it after a reader has taken one. */
  fill(): void {
    let waiting = this.#readers.filter((reader) => reader.isAhead).length;
    for (; waiting < READ_AHEAD; waiting++) {
      let next: AheadReader | null = null;
      let first: Block | null = null;
      for (const reader of this.#readers) {
        const block = reader.nextAhead;
        if (block === null || (first !== null && first.first <= block.first)) continue;
        next = reader;
        first = block;
      }
      if (next === null) return;
      next.requestAhead();
    }
  }
}
