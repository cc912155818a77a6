import type { ByteString } from '../../core/brands.js';

/** Bytes of one hash. */
export const HASH_BYTES = 8;

/**
 * A growing list of 64-bit hashes of values. Two different values have the same hash with a probability of 1 in 2^64: among
 * 20 million values, a wrong "shared" has a probability of about 1 in 90,000.
 */
export class HashList {
  #words = new Uint32Array(1024);
  #length = 0;

  get size(): number {
    return this.#length / 2;
  }

  /** Adds the hash of a value (after cyrb53 by bryc, public domain, with all 64 bits). */
  add(value: ByteString): void {
    let low = 0xdeadbeef;
    let high = 0x41c6ce57;
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at);
      low = Math.imul(low ^ code, 0x9e3779b1);
      high = Math.imul(high ^ code, 0x5f356495);
    }
    low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
    high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
    if (this.#length === this.#words.length) {
      const longer = new Uint32Array(2 * this.#length);
      longer.set(this.#words);
      this.#words = longer;
    }
    this.#words[this.#length++] = low;
    this.#words[this.#length++] = high;
  }

  /** The hashes in ascending order, little-endian. */
  sorted(): Buffer {
    return Buffer.from(this.#inOrder().buffer);
  }

  /** As `sorted`, without those that the other list has as often: most changes of a row leave the value as it was. */
  sortedWithout(other: HashList): Buffer {
    const [own, others] = [this.#inOrder(), other.#inOrder()];
    let length = 0;
    let to = 0;
    for (const hash of own) {
      while (to < others.length && others[to]! < hash) to++;
      if (others[to] === hash) to++;
      else own[length++] = hash;
    }
    return Buffer.from(own.buffer, 0, length * HASH_BYTES);
  }

  #inOrder(): BigUint64Array<ArrayBuffer> {
    const { buffer } = this.#words.slice(0, this.#length);
    return new BigUint64Array(buffer).sort();
  }
}
