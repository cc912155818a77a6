import { type ByteString, readByteString } from '../../core/brands.js';
import type { SortKey } from '../row.js';

const FIRST_BYTES = 64 * 1024;

/**
 * Rows as CSV in memory that the garbage collector does not look at: that of millions of small values would cost more than
 * everything else does.
 */
export class RowBuffer {
  readonly keys: SortKey[] = [];
  /** Number of data cells of each row: columns that came later are missing at its end. */
  readonly widths: number[] = [];
  /** Where the rows end, each behind its LF. */
  readonly #ends: number[] = [];
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);

  /** Number of rows. */
  get rows(): number {
    return this.#ends.length;
  }

  get size(): number {
    return this.offset(this.rows);
  }

  /** Offset of a row; that of the row behind the last one is the size. */
  offset(row: number): number {
    return row === 0 ? 0 : this.#ends[row - 1]!;
  }

  /** The text of neighbouring rows as it lies here, from one up to another. It holds until `clear`. */
  bytes(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.offset(from), this.offset(to));
  }

  /** With its LF. */
  row(at: number): ByteString {
    return readByteString(this.bytes(at, at + 1));
  }

  /** @param text with its LF */
  add(key: SortKey, text: string, width: number): void {
    const from = this.size;
    this.#makeRoom(text.length);
    this.#bytes.write(text, from, 'latin1');
    this.keys.push(key);
    this.widths.push(width);
    this.#ends.push(from + text.length);
  }

  addAll(other: RowBuffer): void {
    const from = this.size;
    this.#makeRoom(other.size);
    other.bytes(0, other.rows).copy(this.#bytes, from);
    for (let at = 0; at < other.rows; at++) {
      this.keys.push(other.keys[at]!);
      this.widths.push(other.widths[at]!);
      this.#ends.push(from + other.#ends[at]!);
    }
  }

  /** Makes it fit for other rows, in the same memory. */
  clear(): void {
    this.keys.length = 0;
    this.widths.length = 0;
    this.#ends.length = 0;
  }

  #makeRoom(bytes: number): void {
    const needed = this.size + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.size);
    this.#bytes = larger;
  }
}
