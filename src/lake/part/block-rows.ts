import type { ByteString } from '../../core/brands.js';
import { RowScanner } from '../rows/csv.js';

/** Bytes that are text at a time. A text that lives as long as a block of a merge would get into V8's old generation. */
const WINDOW_BYTES = 16 * 1024;

/** The rows of a block, in turn. Only a window of the block is text. */
export class BlockRows {
  /** The window. */
  #text = '' as ByteString;
  #rows = new RowScanner('');
  /** Offset of the window in the block. */
  #from = 0;
  /** Offsets of the current row in the window. */
  #start = 0;
  #end = 0;

  /**
   * @param raw at least one row
   * @param release frees the bytes. No other row may be read afterwards. Default: they are not freed.
   */
  constructor(
    private readonly raw: Buffer,
    readonly release: () => void = () => {},
    private readonly windowBytes = WINDOW_BYTES,
  ) {}

  /** Whether the current row is the first one. */
  get isFirst(): boolean {
    return this.#from + this.#start === 0;
  }

  /** The current row, with its LF. */
  get row(): ByteString {
    return this.#text.slice(this.#start, this.#end) as ByteString;
  }

  /** The text that contains the current row, from `start` on. */
  get text(): ByteString {
    return this.#text;
  }

  get start(): number {
    return this.#start;
  }

  /** Moves to the next row. Returns false at the end of the block. */
  next(): boolean {
    this.#start = this.#end;
    let end = this.#rows.next(this.#start);
    if (end === -1) {
      this.#from += this.#start;
      this.#start = 0;
      if (this.#from >= this.raw.length) return false;
      end = this.#load();
    }
    this.#end = end;
    return true;
  }

  /** Makes the window begin with the next row. Returns the end of this row, which is that of the block if the row has no LF. */
  #load(): number {
    for (let bytes = this.windowBytes; ; bytes *= 2) {
      const to = this.#from + bytes;
      this.#text = this.raw.toString('latin1', this.#from, to) as ByteString;
      this.#rows = new RowScanner(this.#text);
      const end = to < this.raw.length ? this.#rows.next(0) : this.#rows.end(0);
      if (end !== -1) return end;
    }
  }
}
