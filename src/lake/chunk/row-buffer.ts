import { type ByteString, readByteString } from '../../core/brands.js';
import type { SortKey } from '../rows/row.js';

const FIRST_BYTES = 64 * 1024;

/**
 * Holds rows as CSV text in one buffer outside the JavaScript heap. Millions of small heap values would spend more time
 * in garbage collection than in all other work.
 */
export class RowBuffer {
  readonly keys: SortKey[] = [];
  /** Number of data cells in each row. Columns added after the row was written are missing at its end. */
  readonly widths: number[] = [];
  /** End offset of each row, after its LF. */
  readonly #ends: number[] = [];
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);

  /** Number of rows. */
  get rows(): number {
    return this.#ends.length;
  }

  get size(): number {
    return this.offset(this.rows);
  }

  /** Start offset of a row in bytes. For `rows`, the offset is `size`. */
  offset(row: number): number {
    return row === 0 ? 0 : this.#ends[row - 1]!;
  }

  /** The text of rows `from` up to, but not including, `to`, without a copy. It is valid until the next `add` or `clear`. */
  bytes(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.offset(from), this.offset(to));
  }

  /** The text of one row, with its LF. */
  row(at: number): ByteString {
    return readByteString(this.bytes(at, at + 1));
  }

  /** @param text the row, with its LF */
  add(key: SortKey, text: string, width: number): void {
    const from = this.size;
    this.#reserve(text.length);
    this.#bytes.write(text, from, 'latin1');
    this.keys.push(key);
    this.widths.push(width);
    this.#ends.push(from + text.length);
  }

  addAll(other: RowBuffer): void {
    const from = this.size;
    this.#reserve(other.size);
    other.bytes(0, other.rows).copy(this.#bytes, from);
    for (let at = 0; at < other.rows; at++) {
      this.keys.push(other.keys[at]!);
      this.widths.push(other.widths[at]!);
      this.#ends.push(from + other.#ends[at]!);
    }
  }

  /** Removes all rows and keeps the memory for the next ones. */
  clear(): void {
    this.keys.length = 0;
    this.widths.length = 0;
    this.#ends.length = 0;
  }

  #reserve(bytes: number): void {
    const needed = this.size + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.size);
    this.#bytes = larger;
  }
}
