import type { ByteString } from '../../core/brands.js';

/**
 * Hashes of 64 bits instead of values. Two different values have the same hash with a probability of 1 in 2^64: among 20 million
 * values, a wrong "shared" has a probability of about 1 in 90,000.
 */
const HASH_BYTES = 8;

/** Writes the two words of a value's hash (after cyrb53 by bryc, public domain, with all 64 bits). */
function hashInto(words: Uint32Array, at: number, value: ByteString): void {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  words[at] = low;
  words[at + 1] = high;
}

/** A growing list of hashes, in the order of the values. */
export class HashList {
  #words = new Uint32Array(1024);
  #length = 0;

  get size(): number {
    return this.#length / 2;
  }

  add(value: ByteString): void {
    if (this.#length === this.#words.length) {
      const longer = new Uint32Array(2 * this.#length);
      longer.set(this.#words);
      this.#words = longer;
    }
    hashInto(this.#words, this.#length, value);
    this.#length += 2;
  }

  /** The hashes, 8 bytes each, little-endian. */
  bytes(): Buffer {
    return Buffer.from(this.#words.buffer, 0, this.#length * 4);
  }
}

/** One pass of several over the same values: each value belongs to one of them. */
interface Pass {
  readonly pass: number;
  readonly passes: number;
}

/** Counts the rows that have a value which another row has, too. It needs 16 to 32 bytes for each different value of its pass. */
export class ValueCounts {
  readonly #pass: Pass;
  readonly #hash = new Uint32Array(2);
  /** Two words of a hash for each slot. */
  #keys = new Uint32Array(2048);
  /** Rows with the value of the slot; 0: the slot is free. */
  #rows = new Uint32Array(1024);
  #size = 0;
  #shared = 0;

  constructor(pass: Pass) {
    this.#pass = pass;
  }

  get shared(): number {
    return this.#shared;
  }

  add(value: ByteString): void {
    hashInto(this.#hash, 0, value);
    this.#count(this.#hash[0]!, this.#hash[1]!);
  }

  /** Adds the hashes of a `HashList`. @param chunks of any lengths */
  async addHashes(chunks: AsyncIterable<Buffer>): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of chunks) {
      const bytes = Buffer.concat([rest, chunk]);
      const whole = bytes.length - (bytes.length % HASH_BYTES);
      for (let at = 0; at < whole; at += HASH_BYTES)
        this.#count(bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4));
      rest = bytes.subarray(whole);
    }
  }

  #count(low: number, high: number): void {
    if (high % this.#pass.passes !== this.#pass.pass) return;
    const slot = this.#slot(low, high);
    const rows = ++this.#rows[slot]!;
    if (rows > 1) {
      this.#shared += rows === 2 ? 2 : 1;
      return;
    }
    this.#keys[2 * slot] = low;
    this.#keys[2 * slot + 1] = high;
    // Up to a load of three quarters, probe sequences stay short.
    if (++this.#size * 4 > this.#rows.length * 3) this.#grow();
  }

  /** The slot of a hash, or the free one where it belongs. */
  #slot(low: number, high: number): number {
    const mask = this.#rows.length - 1;
    for (let at = low & mask; ; at = (at + 1) & mask) {
      if (this.#rows[at] === 0 || (this.#keys[2 * at] === low && this.#keys[2 * at + 1] === high)) return at;
    }
  }

  #grow(): void {
    const [keys, rows] = [this.#keys, this.#rows];
    this.#keys = new Uint32Array(2 * keys.length);
    this.#rows = new Uint32Array(2 * rows.length);
    for (let from = 0; from < rows.length; from++) {
      if (rows[from] === 0) continue;
      const [low, high] = [keys[2 * from]!, keys[2 * from + 1]!];
      const slot = this.#slot(low, high);
      this.#keys[2 * slot] = low;
      this.#keys[2 * slot + 1] = high;
      this.#rows[slot] = rows[from]!;
    }
  }
}
