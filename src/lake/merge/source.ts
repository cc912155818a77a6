import type { ByteString } from '../../core/brands.js';
import { RowScanner } from '../csv.js';
import type { Block } from '../part/index-file.js';
import type { PackedBlocks } from '../part/packed-blocks.js';
import type { BlockReader } from '../part/reader.js';
import type { SortKey } from '../row.js';
import { payloadAt, rowKey } from '../row.js';

/** Keys from `from` on and below `to`; `null` for no bound. */
export interface KeyRange {
  readonly from: SortKey | null;
  readonly to: SortKey | null;
}

export interface SourceOptions {
  /** The snapshot before is 0; staged chunks count from 1 in the order in which they were fetched. */
  readonly age: number;
  readonly blocks: readonly Block[];
  readonly reader: BlockReader;
  readonly keyColumns: number;
  readonly delimiter: string;
  readonly range: KeyRange;
  /** Rows of change logs: they count only for keys that no other source has. */
  readonly reapplied?: boolean;
  /** Makes a row of this source one of today's; `null` where its rows already are, so that blocks can be moved whole. */
  readonly adapt: ((row: ByteString) => ByteString) | null;
}

/**
 * One sorted run of rows in a merge. It stands either in front of a whole block, which may be moved unread, or at
 * a row of an opened one. `key` is what comes next; `null` at the end.
 */
export class MergeSource {
  readonly age: number;
  readonly reapplied: boolean;
  key: SortKey | null = null;
  readonly #options: SourceOptions;
  #block = 0;
  #text: ByteString | null = null;
  #rows: RowScanner | null = null;
  #start = 0;
  #end = 0;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.age = options.age;
    this.reapplied = options.reapplied === true;
    const { from } = options.range;
    while (from !== null && this.#block < options.blocks.length && options.blocks[this.#block]!.last < from) {
      this.#block++;
    }
  }

  /** Must be called once before use. */
  async start(): Promise<void> {
    await this.#enterBlock();
  }

  /** The block that comes next if it could be moved as it is: unopened, inside the range, and written like today's. */
  get wholeBlock(): Block | null {
    if (this.#text !== null || this.#options.adapt !== null || this.reapplied) return null;
    const block = this.#options.blocks[this.#block];
    return block !== undefined && this.#contains(block) ? block : null;
  }

  /** Has what comes next on its way, for another source is about to end. */
  prefetch(): void {
    if (this.#text === null && this.key !== null) this.#options.reader.prefetch(this.#block);
  }

  /** The whole block that comes next, and those behind it that may be moved with it; steps over them. */
  async takeBlocks(mayMove: (block: Block) => boolean): Promise<PackedBlocks> {
    const { reader } = this.#options;
    const taken = await reader.packedBlocks(this.#block, (block) => this.#contains(block) && mayMove(block));
    this.#block += taken.blocks.length;
    await this.#enterBlock();
    return taken;
  }

  /** Opens the next block, so that its rows can be read. */
  async open(): Promise<void> {
    if (this.#text !== null || this.key === null) return;
    this.#text = await this.#options.reader.rows(this.#block);
    this.#rows = new RowScanner(this.#text);
    this.#start = 0;
    this.#readKey();
  }

  /** The row that comes next. The block must be open. */
  row(): ByteString {
    const row = this.#text!.slice(this.#start, this.#end) as ByteString;
    return this.#options.adapt === null ? row : this.#options.adapt(row);
  }

  /** Steps over a row. Returns false when the block is used up: then `nextBlock` must be called. */
  step(): boolean {
    this.#start = this.#end;
    if (this.#start >= this.#text!.length) return false;
    const { delimiter, keyColumns, range } = this.#options;
    this.#end = this.#rows!.end(this.#start);
    this.key = rowKey(this.#text!, payloadAt(this.#text!, this.#start), keyColumns, delimiter);
    if (range.to !== null && this.key >= range.to) this.#finish();
    return true;
  }

  async nextBlock(): Promise<void> {
    this.#text = null;
    this.#block++;
    await this.#enterBlock();
  }

  async #enterBlock(): Promise<void> {
    const { blocks, range } = this.#options;
    const block = blocks[this.#block];
    if (block === undefined || (range.to !== null && block.first >= range.to)) {
      this.#finish();
      return;
    }
    this.key = block.first;
    // A block that reaches over the range's start begins with rows that belong to another task.
    if (range.from !== null && block.first < range.from) await this.open();
  }

  #readKey(): void {
    const { from } = this.#options.range;
    this.#end = 0;
    do {
      if (!this.step()) throw new Error('a block ends before the key that its index promises');
    } while (from !== null && this.key !== null && this.key < from);
  }

  #contains(block: Block): boolean {
    const { from, to } = this.#options.range;
    return (from === null || block.first >= from) && (to === null || block.last < to);
  }

  #finish(): void {
    this.key = null;
    this.#options.reader.release();
  }
}

/** Orders sources by what comes next; of equal keys the oldest first. Sources at their end are not compared. */
export function comesBefore(a: MergeSource, b: MergeSource): boolean {
  return a.key! < b.key! || (a.key === b.key && a.age < b.age);
}
