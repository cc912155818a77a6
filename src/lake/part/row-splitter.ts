import type { ByteString } from '../../core/brands.js';

/** Longest row in bytes. It bounds memory: a longer row means that a quote is not closed. */
export const MAX_ROW_BYTES = 256 * 1024 * 1024;

/**
 * Splits a stream of CSV text into rows, each with its LF. Line breaks inside quotes do not end a row (RFC 4180). It holds
 * at most one row and scans every character once, however the text is divided into chunks.
 */
export class RowSplitter {
  readonly #longest: number;
  #pieces: string[] = [];
  #held = 0;
  #quoted = false;

  constructor(maxRowBytes = MAX_ROW_BYTES) {
    this.#longest = maxRowBytes;
  }

  /** The rows that end in this text. @throws RangeError if a row is longer than allowed */
  *push(text: string): Generator<ByteString> {
    let start = 0;
    let at = 0;
    let quote = -2;
    while (at < text.length) {
      if (quote < at && quote !== -1) quote = text.indexOf('"', at);
      if (this.#quoted) {
        if (quote === -1) break;
        this.#quoted = false;
        at = quote + 1;
        continue;
      }
      const lineEnd = text.indexOf('\n', at);
      if (quote !== -1 && (lineEnd === -1 || quote < lineEnd)) {
        this.#quoted = true;
        at = quote + 1;
        continue;
      }
      if (lineEnd === -1) break;
      yield this.#take(text.slice(start, lineEnd + 1));
      start = lineEnd + 1;
      at = start;
    }
    if (start < text.length) this.#hold(text.slice(start));
  }

  /** The text after the last LF; empty in a complete part. */
  rest(): ByteString {
    return this.#take('');
  }

  #hold(piece: string): void {
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held > this.#longest) throw new RangeError(`a row is longer than ${this.#longest} bytes`);
  }

  #take(end: string): ByteString {
    if (this.#pieces.length === 0) return end as ByteString;
    const row = this.#pieces.join('') + end;
    this.#pieces = [];
    this.#held = 0;
    return row as ByteString;
  }
}
