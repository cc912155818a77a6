import { MAX_ROW_BYTES } from '../../lake/part/row-splitter.js';

const QUOTE = 0x22;
const LF = 0x0a;

/** Receives a row: the bytes that the bounds of its cells refer to, and where it starts and ends, with its LF. */
type OnRow = (bytes: Buffer, start: number, end: number) => void;

/**
 * Finds the cells of CSV rows in the bytes of a file, without making a string of each. It holds at most one row of the
 * pieces before, and reads it again only when twice as many bytes are known.
 */
export class CellScanner {
  readonly #delimiter: number;
  readonly #longest: number;
  /** Where the row that was found last has its cells: `[start, end)` of each in turn, with their quotes. */
  readonly bounds: Int32Array;
  /** The number of cells of that row. */
  cells = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #wanted = 0;

  constructor(delimiter: string, cells: number, maxRowBytes = MAX_ROW_BYTES) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#longest = maxRowBytes;
    this.bounds = new Int32Array(2 * cells);
  }

  /**
   * Calls `onRow` for each row that ends in this piece. Only as many cells as the scanner was made for have bounds.
   *
   * @throws RangeError if a row is longer than allowed
   */
  push(piece: Buffer, onRow: OnRow): void {
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes < Math.min(this.#wanted, this.#longest)) return;
    const bytes = this.#held.length === 1 ? piece : Buffer.concat(this.#held, this.#heldBytes);
    let start = 0;
    for (let end = this.#row(bytes, 0); end !== -1; end = this.#row(bytes, start)) {
      onRow(bytes, start, end);
      start = end;
    }
    this.#heldBytes = bytes.length - start;
    if (this.#heldBytes > this.#longest) throw new RangeError(`a row is longer than ${this.#longest} bytes`);
    this.#held = this.#heldBytes === 0 ? [] : [bytes.subarray(start)];
    this.#wanted = 2 * this.#heldBytes;
  }

  /** Passes on the rows that it still holds. @returns the number of bytes after the last LF; 0 in a complete file */
  end(onRow: OnRow): number {
    this.#wanted = 0;
    this.push(Buffer.alloc(0), onRow);
    return this.#heldBytes;
  }

  /** Offset after the LF of the row that starts at `at`; -1 if it does not end here. */
  #row(bytes: Buffer, at: number): number {
    const { bounds } = this;
    const delimiter = this.#delimiter;
    const { length } = bytes;
    let cell = 0;
    for (let start = at; start < length; cell++) {
      let end = bytes[start] === QUOTE ? afterQuotes(bytes, start) : start;
      if (end === -1) return -1;
      while (end < length && bytes[end] !== delimiter && bytes[end] !== LF) end++;
      if (end === length) return -1;
      if (2 * cell < bounds.length) {
        bounds[2 * cell] = start;
        bounds[2 * cell + 1] = end;
      }
      start = end + 1;
      if (bytes[end] !== LF) continue;
      this.cells = cell + 1;
      return start;
    }
    return -1;
  }
}

/** Offset after the quote that closes the one at `open`; -1 if the bytes may end before it. */
function afterQuotes(bytes: Buffer, open: number): number {
  let at = bytes.indexOf(QUOTE, open + 1);
  while (at !== -1 && bytes[at + 1] === QUOTE) at = bytes.indexOf(QUOTE, at + 2);
  // The next piece can begin with the second quote of a pair.
  return at === -1 || at === bytes.length - 1 ? -1 : at + 1;
}
