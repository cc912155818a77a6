import { hash } from 'node:crypto';
import type { RowBuffer } from '../../lake/chunk/row-buffer.js';
import type { SortKey } from '../../lake/rows/row.js';

/** The most rows that are remembered, each with its key and a hash. */
const MAX_ROWS = 50_000;
const MAX_KEY_CHARS = 8 * 1024 * 1024;

/**
 * Keeps a list that repeats itself from growing in the staging folder. From the first page without a new key on, it remembers
 * the last version of each row, and drops a row that comes again unchanged. All other rows are kept, because a record may
 * have changed. A page with a new key ends the memory, so a list that does not repeat itself costs nothing.
 */
export class RepeatedRows {
  readonly #last = new Map<SortKey, string>();
  #chars = 0;

  /** Buffers the rows of a page with a new key. Returns the number of dropped rows: 0. */
  addNew(buffer: RowBuffer, rows: RowBuffer): number {
    if (this.#last.size > 0) this.#last.clear();
    this.#chars = 0;
    buffer.addAll(rows);
    return 0;
  }

  /** Buffers the rows of a page without a new key, except those that are known to be unchanged. Returns their number. */
  addKnown(buffer: RowBuffer, rows: RowBuffer): number {
    buffer.beginPage();
    let dropped = 0;
    for (const [at, key] of rows.keys().entries()) {
      const digest = hash('sha256', rows.bytes(at, at + 1), 'base64');
      if (this.#last.get(key) === digest) {
        dropped++;
        continue;
      }
      this.#remember(key, digest);
      buffer.addRow(rows, at);
    }
    return dropped;
  }

  /** A row that finds no space is not remembered, and so always kept. */
  #remember(key: SortKey, hash: string): void {
    const hasSpace = this.#last.size < MAX_ROWS && this.#chars + key.length <= MAX_KEY_CHARS;
    if (!this.#last.has(key)) {
      if (!hasSpace) return;
      this.#chars += key.length;
    }
    this.#last.set(key, hash);
  }
}
