import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { SortKey } from '../rows/row.js';

/** The first bits of a hash select the register. */
const INDEX_BITS = 14;
const REGISTERS = 2 ** INDEX_BITS;
/** The other bits of a hash, and one more for a hash that has only zeros there. */
const MAX_RANK = 32 - INDEX_BITS + 1;

/**
 * Remembers which keys a reading has seen, in 16 KiB for any number of keys. It is the sketch of a HyperLogLog (Flajolet et
 * al., 2007): each key selects a register, which keeps the longest run of zeros in the hashes of its keys.
 *
 * A key that was added before never changes a register, however many keys came in between. A change therefore proves a
 * new key. The opposite is only likely: `missChance` tells how likely. An error can thus never hide that a list repeats
 * itself; it can only delay that this is noticed.
 */
export class KeySketch {
  readonly #registers: Buffer;
  /** The sum of 2^-register: the chance, times the number of registers, that a new key changes one. */
  #sum = 0;

  /** @param encoded as `encode` returned it; absent: no keys */
  constructor(encoded?: string) {
    const registers =
      encoded === undefined
        ? null
        : inflateRawSync(Buffer.from(encoded, 'base64'), { maxOutputLength: REGISTERS });
    this.#registers = registers?.length === REGISTERS ? registers : Buffer.alloc(REGISTERS);
    for (const rank of this.#registers) this.#sum += weight(rank);
  }

  /** Adds a key by its `hashOfKey`. Returns whether it is certain that the key is new. */
  add(hash: number): boolean {
    const at = hash >>> (32 - INDEX_BITS);
    const rank = Math.min(Math.clz32(hash << INDEX_BITS) + 1, MAX_RANK);
    const known = this.#registers[at]!;
    if (rank <= known) return false;
    this.#registers[at] = rank;
    this.#sum += weight(rank) - weight(known);
    return true;
  }

  /** The chance that so many new keys would have changed nothing. */
  missChance(keys: number): number {
    return (1 - this.#sum / REGISTERS) ** keys;
  }

  /** Base64 text: some hundred bytes for a short list, 8 KiB for millions of keys. */
  encode(): string {
    return deflateRawSync(this.#registers, { level: 1 }).toString('base64');
  }
}

/** The chance that a new key of a register is greater than its rank. */
function weight(rank: number): number {
  return rank >= MAX_RANK ? 0 : 2 ** -rank;
}

/** 32 bits of a key: FNV-1a with the last mixing step of MurmurHash3. It costs much less than a cryptographic hash. */
export function hashOfKey(key: SortKey): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
