import type { ByteString } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import type { DamagedError } from '../../lake/damaged-error.js';
import type { Block } from '../../lake/documents/block-index.js';
import type { BlockRows } from '../../lake/part/block-rows.js';
import type { PackedBlocks } from '../../lake/part/framing.js';
import type { BlockReader } from '../../lake/part/reader.js';
import { payloadAt, rowKey, type SortKey } from '../../lake/rows/row.js';
import { byKey, type KeyRange } from '../key-ranges.js';

interface SourceOptions {
  /** 0 for the base snapshot. Staged chunks count from 1, in the order they were fetched. */
  readonly age: number;
  /** Reader of the blocks that may have keys in the range (`blocksIn`), and of no others. */
  readonly reader: BlockReader;
  readonly keyColumns: number;
  readonly delimiter: string;
  readonly range: KeyRange;
  /** Whether the rows were fetched in the last reading of the list. */
  readonly isLast?: boolean;
  /** Whether increments should have shown its rows where they differ from the base snapshot. */
  readonly mayBeMissed?: boolean;
  /** As in the chunk of its rows. */
  readonly chain?: number | undefined;
  readonly isProof?: true | undefined;
  /** Converts a row to the current header and profile; `null` if no row needs it, so that whole blocks can be copied. */
  readonly adapt: ((row: ByteString) => ByteString) | null;
}

/**
 * One sorted sequence of rows in a merge. Its position is either the start of an unopened block, which can be copied whole, or
 * a row of an open block. `key` is the next key; `null` at the end.
 */
export class MergeSource {
  readonly age: number;
  readonly isLast: boolean;
  readonly mayBeMissed: boolean;
  /** The chain of pages of its rows; `null` for rows that were not fetched from the service. */
  readonly chain: number | null;
  readonly isProof: boolean;
  key: SortKey | null = null;
  readonly #options: SourceOptions;
  #block = 0;
  /** Those of the open block. */
  #rows: BlockRows | null = null;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.age = options.age;
    this.isLast = options.isLast === true;
    this.mayBeMissed = options.mayBeMissed === true;
    this.chain = options.chain ?? null;
    this.isProof = options.isProof === true;
  }

  /** Moves to the first key. Call it once before any other method. */
  async start(): Promise<void> {
    await this.#enterBlock();
  }

  /** The last key of its blocks; `null` if there are none. */
  get last(): SortKey | null {
    return this.#options.reader.blocks.at(-1)?.last ?? null;
  }

  /** The next block, if it can be copied unchanged: unopened, inside the range, current format. Otherwise `null`. */
  get wholeBlock(): Block | null {
    if (this.#rows !== null || this.#options.adapt !== null) return null;
    const block = this.#options.reader.blocks[this.#block];
    return block !== undefined && this.#contains(block) ? block : null;
  }

  /** Returns the next whole block and the following ones that `mayMove` accepts, and moves past them. */
  async takeBlocks(mayMove: (block: Block) => boolean): Promise<PackedBlocks> {
    const { reader } = this.#options;
    const taken = await reader.packedBlocks(this.#block, (block) => this.#contains(block) && mayMove(block));
    this.#block += taken.blocks.length;
    await this.#enterBlock();
    return taken;
  }

  /** Whether the rows of the next block are available. */
  get isOpen(): boolean {
    return this.#rows !== null;
  }

  /** Reads the next block, so that its rows are available. */
  async open(): Promise<void> {
    if (this.#rows !== null || this.key === null) return;
    this.#rows = await this.#options.reader.openRows(this.#block);
    this.#readKey();
  }

  /** The next row, in the current format. The block must be open. */
  row(): ByteString {
    const { row } = this.#rows!;
    return this.#options.adapt === null ? row : this.#options.adapt(row);
  }

  /** Moves past a row. Returns false at the end of the block; the caller must then call `nextBlock`. */
  step(): boolean {
    const rows = this.#rows!;
    const block = this.#options.reader.blocks[this.#block]!;
    if (!rows.next()) {
      // The order of a merge depends on the keys in the index.
      if (this.key !== block.last) throw this.#otherKeys();
      return false;
    }
    const { delimiter, keyColumns, range } = this.#options;
    const { text, start } = rows;
    const key = rowKey(text, payloadAt(text, start), keyColumns, delimiter);
    if (rows.isFirst && key !== block.first) throw this.#otherKeys();
    if (range.to !== null && key >= range.to) this.#finish();
    else this.key = key;
    return true;
  }

  async nextBlock(): Promise<void> {
    this.#closeBlock();
    this.#block++;
    await this.#enterBlock();
  }

  #closeBlock(): void {
    this.#rows?.release();
    this.#rows = null;
  }

  async #enterBlock(): Promise<void> {
    const { reader, range } = this.#options;
    const block = reader.blocks[this.#block];
    if (block === undefined) {
      this.#finish();
      return;
    }
    this.key = block.first;
    // A block that starts before the range begins with rows of another task.
    if (range.from !== null && block.first < range.from) await this.open();
  }

  #readKey(): void {
    const { from } = this.#options.range;
    do {
      if (!this.step()) throw this.#otherKeys();
    } while (from !== null && this.key !== null && this.key < from);
  }

  #contains(block: Block): boolean {
    const { from, to } = this.#options.range;
    return (from === null || block.first >= from) && (to === null || block.last < to);
  }

  #otherKeys(): DamagedError {
    return this.#options.reader.damagedBlock(
      this.#block,
      'does not begin and end with the keys of its index',
    );
  }

  #finish(): void {
    this.key = null;
    this.#closeBlock();
    this.#options.reader.release();
  }
}

const STARTED_AT_ONCE = 16;

interface Item {
  readonly source: MergeSource;
  /** The code of the source's key. It is compared first. */
  code: number;
}

/** A binary heap of sources. The source with the smallest key is at the top. Exhausted sources are removed. */
export class SourceHeap {
  readonly #items: Item[];
  /** Number of first characters that are the same in all keys. Codes are made of those after them. */
  readonly #same: number;

  private constructor(sources: readonly MergeSource[]) {
    const left = sources.filter((source) => source.key !== null);
    const first = left.map(({ key }) => key!).sort(byKey)[0];
    const last = left
      .map((source) => source.last!)
      .sort(byKey)
      .at(-1);
    this.#same = first === undefined || last === undefined ? 0 : commonPrefix(first, last);
    this.#items = left.map((source) => ({ source, code: keyCode(source.key!, this.#same) }));
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  /** Moves each source to its first key, and returns the heap. */
  static async start(sources: readonly MergeSource[]): Promise<SourceHeap> {
    await inParallel(sources, STARTED_AT_ONCE, (source) => source.start());
    return new SourceHeap(sources);
  }

  get top(): MergeSource | undefined {
    return this.#items[0]?.source;
  }

  /** The source with the second smallest key. */
  get second(): MergeSource | undefined {
    const [, left, right] = this.#items;
    if (left === undefined || right === undefined) return left?.source;
    return comesBefore(right, left) ? right.source : left.source;
  }

  /** Restores the heap order. Call it after the key of the top has changed. */
  updateTop(): void {
    const [top] = this.#items;
    if (top === undefined) return;
    if (top.source.key !== null) {
      top.code = keyCode(top.source.key, this.#same);
    } else {
      const last = this.#items.pop()!;
      if (this.#items.length === 0) return;
      this.#items[0] = last;
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const items = this.#items;
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let first = at;
      if (left < items.length && comesBefore(items[left]!, items[first]!)) first = left;
      if (right < items.length && comesBefore(items[right]!, items[first]!)) first = right;
      if (first === at) return;
      [items[at], items[first]] = [items[first]!, items[at]!];
      at = first;
    }
  }
}

/** Whether `a` comes before `b`: by next key, then the older source first. */
function comesBefore(a: Item, b: Item): boolean {
  if (a.code !== b.code) return a.code < b.code;
  const [keyA, keyB] = [a.source.key!, b.source.key!];
  return keyA < keyB || (keyA === keyB && a.source.age < b.source.age);
}

/** Characters of a key that its code contains. */
const CODE_WIDTH = 4;
/** A character of a key and its end: a byte plus one, and 0. */
const CODES = 257;

/**
 * The characters of a key from `at` as a number. Keys with the same characters before `at` are in the order of their codes;
 * equal codes leave the order open. Comparing two strings costs much more than comparing two numbers.
 */
export function keyCode(key: SortKey, at: number): number {
  let code = 0;
  for (let next = at; next < at + CODE_WIDTH; next++) {
    code = code * CODES + (next < key.length ? key.charCodeAt(next) + 1 : 0);
  }
  return code;
}

/** Number of first characters that two keys, and therefore all keys between them, have in common. */
export function commonPrefix(a: SortKey, b: SortKey): number {
  let same = 0;
  while (same < a.length && same < b.length && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  return same;
}
