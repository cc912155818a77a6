import { MAX_EXTRA, type PlainEncoder } from './plain.js';

/** After this many values, a column that repeats less than half of them does without a dictionary. */
const TRIAL = 1000;
/** Bytes of the longest dictionary. */
const MAX_DICTIONARY_BYTES = 1024 * 1024;
/** Small, because a row can have thousands of columns. */
const INITIAL_BYTES = 1024;
const INITIAL_ROWS = 256;

/**
 * The values of one column in a row group, in Parquet's PLAIN encoding. As long as values repeat, each is stored once, and
 * the rows are indexes. Nothing is allocated for a value.
 */
export class ColumnBuffer {
  /** One level for each row: 0 for null, 1 for a value. */
  #levels = new Uint8Array(INITIAL_ROWS);
  #rows = 0;
  #nulls = 0;
  #plain = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #size = 0;
  #dictionary: Dictionary | null;

  /** @param canRepeat whether to look for repeated values */
  constructor(canRepeat: boolean) {
    this.#dictionary = canRepeat ? new Dictionary() : null;
  }

  get rows(): number {
    return this.#rows;
  }

  get nulls(): number {
    return this.#nulls;
  }

  get levels(): Uint8Array {
    return this.#levels.subarray(0, this.#rows);
  }

  /** The values, or those of the dictionary. */
  get plain(): Buffer {
    return this.#plain.subarray(0, this.#size);
  }

  /**
   * The number of values in the dictionary, and the index of each value that is not null; `null` without a dictionary. A
   * dictionary is never empty.
   */
  get dictionary(): { readonly size: number; readonly indexes: Uint32Array } | null {
    const dictionary = this.#dictionary;
    return dictionary === null || dictionary.size === 0 ? null : dictionary;
  }

  /** Whether values have been repeated so far. */
  get repeats(): boolean {
    return this.#dictionary !== null;
  }

  addNull(): void {
    this.#addLevel(0);
    this.#nulls++;
  }

  /** @returns false if the type cannot hold the value, which is then not added */
  add(encode: PlainEncoder, bytes: Buffer, start: number, end: number): boolean {
    this.#reserve(end - start + MAX_EXTRA);
    const length = encode(bytes, start, end, this.#plain, this.#size);
    if (length === -1) return false;
    this.#addLevel(1);
    const last = this.#size;
    this.#size += length;
    const dictionary = this.#dictionary;
    if (dictionary === null) return true;
    if (!dictionary.add(this.#plain, last, this.#size)) this.#size = last;
    const values = this.#rows - this.#nulls;
    if (values >= TRIAL && (2 * dictionary.size > values || this.#size > MAX_DICTIONARY_BYTES))
      this.#expand();
    return true;
  }

  #addLevel(level: 0 | 1): void {
    if (this.#rows === this.#levels.length) {
      const grown = new Uint8Array(2 * this.#rows);
      grown.set(this.#levels);
      this.#levels = grown;
    }
    this.#levels[this.#rows++] = level;
  }

  #reserve(bytes: number): void {
    const needed = this.#size + bytes;
    if (needed <= this.#plain.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#plain.length));
    this.#plain.copy(grown, 0, 0, this.#size);
    this.#plain = grown;
  }

  /** Replaces the dictionary by the values themselves. */
  #expand(): void {
    const { indexes, bounds } = this.#dictionary!;
    const values = this.plain;
    this.#dictionary = null;
    this.#plain = Buffer.allocUnsafeSlow(2 * values.length);
    this.#size = 0;
    for (const index of indexes) {
      const [start, end] = [bounds[index]!, bounds[index + 1]!];
      this.#reserve(end - start);
      this.#size += values.copy(this.#plain, this.#size, start, end);
    }
  }
}

/** Distinct values, which are next to each other in a buffer, found by their hashes. */
class Dictionary {
  /** Where each value starts, and where the last one ends. */
  readonly bounds: number[] = [0];
  #indexes = new Uint32Array(INITIAL_ROWS);
  #length = 0;
  /** Open addressing: one more than the index of a value, at its hash or after it. At most half of it is used. */
  #slots = new Uint32Array(2 * INITIAL_ROWS);

  get size(): number {
    return this.bounds.length - 1;
  }

  get indexes(): Uint32Array {
    return this.#indexes.subarray(0, this.#length);
  }

  /** Adds the value at the end of the buffer. @returns whether it is new */
  add(plain: Buffer, start: number, end: number): boolean {
    const mask = this.#slots.length - 1;
    let slot = hashOf(plain, start, end) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const index = this.#slots[slot]! - 1;
      if (!this.#isEqual(plain, index, start, end)) continue;
      this.#push(index);
      return false;
    }
    this.#push(this.size);
    this.bounds.push(end);
    this.#slots[slot] = this.size;
    if (2 * this.size > this.#slots.length) this.#grow(plain);
    return true;
  }

  #isEqual(plain: Buffer, index: number, start: number, end: number): boolean {
    let other = this.bounds[index]!;
    if (this.bounds[index + 1]! - other !== end - start) return false;
    for (let at = start; at < end; at++, other++) if (plain[at] !== plain[other]) return false;
    return true;
  }

  #push(index: number): void {
    if (this.#length === this.#indexes.length) {
      const grown = new Uint32Array(2 * this.#length);
      grown.set(this.#indexes);
      this.#indexes = grown;
    }
    this.#indexes[this.#length++] = index;
  }

  #grow(plain: Buffer): void {
    this.#slots = new Uint32Array(2 * this.#slots.length);
    const mask = this.#slots.length - 1;
    for (let index = 0; index < this.size; index++) {
      let slot = hashOf(plain, this.bounds[index]!, this.bounds[index + 1]!) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = index + 1;
    }
  }
}

/** FNV-1a with 32 bits, whose upper bits are mixed into the lower ones. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash ^ (hash >>> 15);
}
