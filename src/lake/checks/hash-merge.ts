import type { ObjectKey } from '../../core/brands.js';
import { crc32, crc32ToHex } from '../store/crc32.js';
import type { ObjectStore } from '../store/index.js';
import { HASH_BYTES } from './hashes.js';

/** An object with sorted hashes: of values that rows have (1), or no longer have (-1). */
export interface HashRun {
  readonly key: ObjectKey;
  readonly sign: 1 | -1;
  /** Checksum of the object, if it is known: 8 lower-case hex digits. */
  readonly crc32?: string;
}

/** What a merge of hashes found. */
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
