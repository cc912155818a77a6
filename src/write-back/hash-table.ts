/**
 * A map from hashes to numbers outside the JavaScript heap. An entry has 16 bytes of the hash and `width` numbers, so a
 * million rows take about 50 MB. Collisions of 16 bytes of SHA-256 are negligible.
 */
export class HashTable {
  readonly #width: number;
  #mask: number;
  #size = 0;
  #keys: Uint32Array;
  #values: Uint32Array;
  #used: Uint8Array;

  /** @param width numbers per entry, each from 0 to 2^32 - 1 @param capacity a power of two */
  constructor(width = 1, capacity = 1024) {
    this.#width = width;
    this.#mask = capacity - 1;
    this.#keys = new Uint32Array(4 * capacity);
    this.#values = new Uint32Array(width * capacity);
    this.#used = new Uint8Array(capacity);
  }

  /** A table with room for `entries`. Growing would temporarily take twice the memory. */
  static sized(width: number, entries: number): HashTable {
    return new HashTable(width, Math.max(1024, 2 ** Math.ceil(Math.log2((4 / 3) * (entries + 1)))));
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the entry of a hash, or -1. @param from where the hash begins in the buffer */
  find(hash: Buffer, from = 0): number {
    const at = this.#slot(hash, from);
    return this.#used[at] === 1 ? at : -1;
  }

  /** Returns the entry of a hash and creates it with zeros if needed. Invalidates entries that were returned before. */
  entry(hash: Buffer, from = 0): number {
    let at = this.#slot(hash, from);
    if (this.#used[at] === 1) return at;
    // Up to a load of three quarters, probe sequences stay short.
    if (4 * (this.#size + 1) > 3 * (this.#mask + 1)) {
      this.#grow();
      at = this.#slot(hash, from);
    }
    this.#used[at] = 1;
    this.#size++;
    for (let word = 0; word < 4; word++) this.#keys[4 * at + word] = hash.readUInt32LE(from + 4 * word);
    return at;
  }

  get(entry: number, value = 0): number {
    return this.#values[this.#width * entry + value]!;
  }

  set(entry: number, value: number, to: number): void {
    this.#values[this.#width * entry + value] = to;
  }

  #slot(hash: Buffer, from: number): number {
    const a = hash.readUInt32LE(from);
    const b = hash.readUInt32LE(from + 4);
    const c = hash.readUInt32LE(from + 8);
    const d = hash.readUInt32LE(from + 12);
    for (let at = a & this.#mask; ; at = (at + 1) & this.#mask) {
      if (this.#used[at] === 0) return at;
      const key = 4 * at;
      const keys = this.#keys;
      if (keys[key] === a && keys[key + 1] === b && keys[key + 2] === c && keys[key + 3] === d) return at;
    }
  }

  #grow(): void {
    const [keys, values, used, width] = [this.#keys, this.#values, this.#used, this.#width];
    const capacity = 2 * (this.#mask + 1);
    this.#mask = capacity - 1;
    this.#keys = new Uint32Array(4 * capacity);
    this.#values = new Uint32Array(width * capacity);
    this.#used = new Uint8Array(capacity);
    for (let from = 0; from < used.length; from++) {
      if (used[from] === 0) continue;
      let at = keys[4 * from]! & this.#mask;
      while (this.#used[at] === 1) at = (at + 1) & this.#mask;
      this.#used[at] = 1;
      this.#keys.set(keys.subarray(4 * from, 4 * from + 4), 4 * at);
      this.#values.set(values.subarray(width * from, width * from + width), width * at);
    }
  }
}
