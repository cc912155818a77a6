import type { Block } from './index-file.js';

/** A reader that can request blocks before they are needed. */
export interface AheadReader {
  /** Whether blocks that were requested ahead have not been taken yet. */
  readonly isAhead: boolean;
  /** The first block that has not been requested; `null` if there is none, or if the reader is ahead. */
  readonly nextAhead: Block | null;
  requestAhead(): void;
}

/** The most readers that are ahead. It hides the latency of the store without a second buffer for each reader. */
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

  /** Makes requests until `READ_AHEAD` readers are ahead. Call it after a reader has taken what was requested ahead. */
  fill(): void {
    let ahead = this.#readers.filter((reader) => reader.isAhead).length;
    for (; ahead < READ_AHEAD; ahead++) {
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
