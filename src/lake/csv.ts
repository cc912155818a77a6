import { stringify } from 'csv-stringify/sync';
import type { ByteString } from '../core/brands.js';

/** A cell of a row: `null` and a hole are an empty unquoted field, `''` is `""` (DESIGN 3.8). */
export type Cell = ByteString | null | undefined;

/**
 * Writes rows as CSV (RFC 4180 quoting, LF; DESIGN 3.10). All arrays have the header's length.
 */
export function writeRows(rows: readonly (readonly Cell[])[], delimiter: string): ByteString {
  if (rows.length === 0) return '' as ByteString;
  return stringify(rows as Cell[][], {
    delimiter,
    record_delimiter: '\n',
    // An empty string is quoted and null is not; `quoted_empty` would quote both. A bare CR ends a row for most readers.
    quoted_match: ['\r', /^$/],
  }) as ByteString;
}

const QUOTE = 0x22;

/**
 * Offset behind the cell that starts at `at`: of the delimiter, or of the LF that ends the row.
 */
export function cellEnd(text: string, at: number, delimiter: string): number {
  if (text.charCodeAt(at) !== QUOTE) {
    const code = delimiter.charCodeAt(0);
    let end = at;
    for (; end < text.length; end++) {
      const next = text.charCodeAt(end);
      if (next === code || next === 0x0a) break;
    }
    return end;
  }
  let end = text.indexOf('"', at + 1);
  while (end !== -1 && text.charCodeAt(end + 1) === QUOTE) end = text.indexOf('"', end + 2);
  return end === -1 ? text.length : end + 1;
}

/** The value of a cell's text. */
export function readCell(cell: string): ByteString | null {
  if (cell === '') return null;
  if (cell.charCodeAt(0) !== QUOTE) return cell as ByteString;
  return cell.slice(1, -1).replaceAll('""', '"') as ByteString;
}

/**
 * Finds where rows end; line breaks inside quotes do not end one. Rows must be asked for in ascending order: the
 * next quotation mark is looked for once, and most text has few.
 */
export class RowScanner {
  readonly #text: string;
  #quote: number;

  constructor(text: string) {
    this.#text = text;
    this.#quote = text.indexOf('"');
  }

  /** Offset behind the LF of the row that starts at `at`. */
  end(at: number): number {
    const text = this.#text;
    let lineEnd = text.indexOf('\n', at);
    if (this.#quote !== -1 && this.#quote < at) this.#quote = text.indexOf('"', at);
    while (lineEnd !== -1 && this.#quote !== -1 && this.#quote < lineEnd) {
      const close = text.indexOf('"', this.#quote + 1);
      if (close === -1) return text.length;
      if (close > lineEnd) lineEnd = text.indexOf('\n', close);
      this.#quote = text.indexOf('"', close + 1);
    }
    return lineEnd === -1 ? text.length : lineEnd + 1;
  }
}

/** All cells of one row, its LF left out. */
export function readRow(row: string, delimiter: string): (ByteString | null)[] {
  const cells: (ByteString | null)[] = [];
  for (let at = 0; ; ) {
    const end = cellEnd(row, at, delimiter);
    cells.push(readCell(row.slice(at, end)));
    if (end >= row.length || row.charCodeAt(end) === 0x0a) return cells;
    at = end + 1;
  }
}
