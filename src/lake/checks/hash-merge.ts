import type { ByteString, ObjectKey } from '../../core/brands.js';
import { crc32, crc32ToHex } from '../store/crc32.js';
import type { ObjectStore } from '../store/index.js';

const HASH_BYTES = 8;

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

/** An object with sorted hashes: of values that rows have (1), or no longer have (-1). */
export interface HashRun {
  readonly key: ObjectKey;
  readonly sign: 1 | -1;
  /** Checksum of the object, if it is known: 8 lower-case hex digits. */
  readonly crc32?: string;
}
export interface MergedHashes {
  /** Values that are not null, in all rows. */
  readonly values: number;
  /** Rows whose value another row has, too. */
  readonly shared: number;
}

/** Words that the output holds. */
const OUTPUT_WORDS = 64 * 1024;

/**
 * Merges sorted hashes: those of the snapshot before, and of the rows that were added and removed since. It compares two
 * 32-bit words, because numbers of 64 bits are slow. Memory is bounded by a chunk of each object.
 *
 * @param write receives the hashes of the new snapshot, sorted. The buffer is used again afterwards.
 * @returns `null` if the objects do not belong together: one is damaged, or more is removed than there was
 */
export async function mergeHashes(
  store: ObjectStore,
  runs: readonly HashRun[],
  write: (sorted: Buffer) => Promise<void>,
  signal?: AbortSignal,
): Promise<MergedHashes | null> {
  const cursors = runs.map((run) => new HashCursor(store, run, signal));
  try {
    await Promise.all(cursors.map((cursor) => cursor.load()));
    return await merge(cursors, write);
  } finally {
    await Promise.all(cursors.map((cursor) => cursor.close()));
  }
}

async function merge(
  all: readonly HashCursor[],
  write: (sorted: Buffer) => Promise<void>,
): Promise<MergedHashes | null> {
  const output = new Uint32Array(OUTPUT_WORDS);
  let length = 0;
  let values = 0;
  let shared = 0;
  const flush = async (): Promise<void> => {
    if (length > 0) await write(Buffer.from(output.buffer, 0, length * 4));
    length = 0;
  };
  let cursors = all.filter((cursor) => !cursor.done);
  while (cursors.length > 0) {
    const [top, second] = twoLeast(cursors);
    // Most values are in one list only, once: they are copied up to the next value of another list.
    const from = top.at;
    if (top.sign === 1) {
      const room = from + (OUTPUT_WORDS - length);
      const words = top.words;
      const last = Math.min(words.length - 2, room);
      let at = from;
      while (
        at < last &&
        (words[at] !== words[at + 2] || words[at + 1] !== words[at + 3]) &&
        (second === null || isBefore(words, at, second.words, second.at))
      )
        at += 2;
      if (at > from) {
        output.set(words.subarray(from, at), length);
        length += at - from;
        values += (at - from) / 2;
        top.at = at;
      }
    }
    if (length > OUTPUT_WORDS - 2) await flush();
    if (top.at > from) continue;
    const low = top.words[top.at]!;
    const high = top.words[top.at + 1]!;
    let times = 0;
    for (const cursor of cursors) {
      while (!cursor.done && cursor.words[cursor.at] === low && cursor.words[cursor.at + 1] === high) {
        times += cursor.sign;
        cursor.at += 2;
        if (cursor.at === cursor.words.length) await cursor.load();
      }
    }
    if (times < 0) return null;
    values += times;
    if (times > 1) shared += times;
    for (; times > 0; times--) {
      if (length === OUTPUT_WORDS) await flush();
      output[length++] = low;
      output[length++] = high;
    }
    cursors = cursors.filter((cursor) => !cursor.done);
  }
  await flush();
  return all.some((cursor) => cursor.isDamaged) ? null : { values, shared };
}

function isBefore(a: Uint32Array, at: number, b: Uint32Array, bt: number): boolean {
  const [high, other] = [a[at + 1]!, b[bt + 1]!];
  return high < other || (high === other && a[at]! < b[bt]!);
}

/** The cursor with the least value, and the one with the least value among the others. */
function twoLeast(cursors: readonly HashCursor[]): [HashCursor, HashCursor | null] {
  let top = cursors[0]!;
  let second: HashCursor | null = null;
  for (let i = 1; i < cursors.length; i++) {
    const one = cursors[i]!;
    if (isBefore(one.words, one.at, top.words, top.at)) {
      second = top;
      top = one;
    } else if (second === null || isBefore(one.words, one.at, second.words, second.at)) second = one;
  }
  return [top, second];
}

/** A position in one object. */
class HashCursor {
  readonly sign: 1 | -1;
  words = new Uint32Array(0);
  at = 0;
  done = false;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #expected: string | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #crc = 0;

  constructor(store: ObjectStore, { key, sign, crc32: expected }: HashRun, signal: AbortSignal | undefined) {
    this.sign = sign;
    this.#expected = expected;
    this.#chunks = store.stream(key, { signal })[Symbol.asyncIterator]();
  }

  /** Makes the next hashes available, after the last one was read. */
  async load(): Promise<void> {
    this.at = 0;
    for (;;) {
      const { done, value } = await this.#chunks.next();
      if (!done) this.#crc = crc32(value, this.#crc);
      const bytes = Buffer.concat([this.#rest, ...(done ? [] : [value])]);
      const whole = bytes.length - (bytes.length % HASH_BYTES);
      this.#rest = bytes.subarray(whole);
      // A copy: words must begin at a multiple of four bytes.
      this.words = new Uint32Array(new Uint8Array(bytes.subarray(0, whole)).buffer);
      if (whole > 0) return;
      if (done) {
        this.done = true;
        return;
      }
    }
  }

  /** Whether its bytes differ from what was written; known at the end. */
  get isDamaged(): boolean {
    return this.#expected !== undefined && crc32ToHex(this.#crc) !== this.#expected;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
