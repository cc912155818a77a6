import { type ByteString, fromByteString } from '../core/brands.js';
import { InputError } from '../core/input-error.js';
import { withoutEnd } from '../core/without-end.js';
import { isUtf8Text, sepLine, shownDelimiter } from './input-format.js';
import type { InputProblems } from './input-problems.js';

export interface CsvRecord {
  /** Its first line, from 1. */
  readonly line: number;
  /** `null` for an empty unquoted cell, `''` for `""`. The stored numbers of a sheet have a mark (`isStored`). */
  readonly cells: readonly (ByteString | null)[];
}

interface CsvParserOptions {
  /**
   * `records`: the CSV was made of a sheet (`InputReading.lines`). Each record is one line, whatever its cells have, and a cell without
   * quotes is a stored number.
   */
  readonly lines?: 'records' | undefined;
  /** Collects records that are not UTF-8. Default: they are thrown. */
  readonly problems?: InputProblems | null | undefined;
}

/** A byte that no text in UTF-8 has. */
const STORED = '\xff';

/** Whether a cell is a stored number of a sheet. It has a decimal point, whatever texts have. */
export function isStored(cell: ByteString): boolean {
  return cell.startsWith(STORED);
}

/** The text of a cell. */
export function withoutStoredMark(cell: ByteString): ByteString {
  return isStored(cell) ? (cell.slice(STORED.length) as ByteString) : cell;
}

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Longest record in bytes. A longer one usually has an unclosed quotation mark. */
export const MAX_RECORD_BYTES = 8 * 1024 * 1024;

/** The record is incomplete: more input is needed. */
const INCOMPLETE = Symbol('more');

/**
 * A strict streaming CSV parser (RFC 4180: one delimiter, double quotes). LF, CRLF and CR end a record, also mixed. It holds
 * one record in memory, so a file can have any size. It skips empty lines, and a line such as `sep=;` before the header. In
 * the header, spaces around a quoted cell are ignored.
 *
 * Text has one byte per character. Invalid CSV throws InputError with line and column.
 *
 * Files of this package are read by `RowSplitter`, which is faster, and neither checks nor counts lines. This parser replaces
 * csv-parse (7.0.3), which gives no column, gives the last line for an unclosed quotation mark, counts a CRLF inside quotes as two
 * lines, accepts a NUL after a closing quotation mark, does not limit a row of empty cells, and is 27 to 50 times slower when it must
 * tell an empty cell from `""`.
 */
export class CsvParser {
  #pending = '';
  /** An incomplete record is read again when the text has doubled, so that the time does not grow with the square. */
  #readAt = 0;
  #line = 1;
  /** Offset of the current line of the current record. */
  #lineStart = 0;
  #lines = 0;
  #part: 'header' | 'rows' = 'header';
  /** Whether lines end with CR, so that CR also separates lines inside quotes. */
  #crLines = false;
  readonly #delimiter: number;
  readonly #options: CsvParserOptions;

  constructor(delimiter = ',', options: CsvParserOptions = {}) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#options = options;
  }

  /** Adds a chunk of text and returns the records that it completes. @param state `end`: no more text follows */
  parse(chunk: string, state: 'open' | 'end'): CsvRecord[] {
    const text = this.#pending + chunk;
    const records: CsvRecord[] = [];
    if (state === 'open' && text.length < this.#readAt) {
      this.#pending = text;
      return records;
    }
    let at = 0;
    while (at < text.length) {
      this.#lineStart = at;
      this.#lines = 0;
      const cells: (ByteString | null)[] = [];
      const end = this.#record(text, at, state === 'end', cells);
      if (end === INCOMPLETE) break;
      if (!isUtf8Text(text.slice(at, end))) this.#reportEncoding();
      if (cells.length > 1 || cells[0] !== null) {
        if (this.#part === 'rows' || this.#isHeader(text.slice(at, end), cells))
          records.push({ line: this.#line, cells });
      }
      this.#line += this.#options.lines === 'records' ? 1 : this.#lines + 1;
      at = end;
    }
    this.#pending = text.slice(at);
    this.#readAt = Math.min(2 * this.#pending.length, MAX_RECORD_BYTES + 1);
    if (this.#pending.length > MAX_RECORD_BYTES) {
      throw new InputError(`the row that starts here is longer than ${MAX_RECORD_BYTES / 1024 ** 2} MiB`, {
        line: this.#line,
        remedy: 'Check for an unclosed quotation mark.',
      });
    }
    return records;
  }

  #reportEncoding(): void {
    const error = new InputError('the text is not UTF-8', {
      ...{ line: this.#line, remedy: NOT_UTF8_REMEDY, about: { kind: 'encoding' } },
    });
    if (this.#options.problems == null) throw error;
    this.#options.problems.add(error);
  }

  /** Whether a record is the header, and not a line without any value or a `sep=` line before it. */
  #isHeader(record: string, cells: readonly (ByteString | null)[]): boolean {
    if (cells.every((cell) => cell === null || cell.trim() === '')) return false;
    if (sepLine(withoutEnd(record, '\r\n')) !== null) return false;
    this.#part = 'rows';
    this.#crLines = record.endsWith('\r');
    return true;
  }

  /** Parses the record at `at` into `cells`. Returns the offset of the next one. */
  #record(text: string, at: number, last: boolean, cells: (ByteString | null)[]): number | typeof INCOMPLETE {
    for (let pos = at; ; pos++) {
      const isLenient = this.#part === 'header' && this.#delimiter !== SPACE;
      // Spaces are only skipped before a quoted cell.
      const start = isLenient ? spacesEnd(text, pos) : pos;
      if (text.charCodeAt(start) === QUOTE) pos = start;
      const quoted = text.charCodeAt(pos) === QUOTE;
      const end = quoted ? this.#quoted(text, pos, last, cells) : this.#plain(text, pos, cells);
      if (end === INCOMPLETE) return INCOMPLETE;
      pos = quoted && isLenient ? spacesEnd(text, end) : end;
      if (pos >= text.length) return last ? pos : INCOMPLETE;
      const code = text.charCodeAt(pos);
      if (code === this.#delimiter) {
        // A delimiter at the end of the input is followed by an empty cell.
        if (pos + 1 < text.length || !last) continue;
        cells.push(null);
        return pos + 1;
      }
      if (code === LF) return pos + 1;
      if (code === CR) {
        // The next character decides whether this is CRLF.
        if (pos + 1 >= text.length) return last ? pos + 1 : INCOMPLETE;
        return text.charCodeAt(pos + 1) === LF ? pos + 2 : pos + 1;
      }
      throw this.#error(text, pos, 'text after the closing quotation mark', this.#quotingRule());
    }
  }

  #plain(text: string, start: number, cells: (ByteString | null)[]): number {
    const delimiter = this.#delimiter;
    let end = start;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === delimiter || code === LF || code === CR) break;
      if (code === QUOTE)
        throw this.#error(text, end, 'a quotation mark inside an unquoted cell', this.#quotingRule());
    }
    const mark = this.#options.lines === 'records' ? STORED : '';
    cells.push(end === start ? null : ((mark + text.slice(start, end)) as ByteString));
    return end;
  }

  #quoted(
    text: string,
    start: number,
    last: boolean,
    cells: (ByteString | null)[],
  ): number | typeof INCOMPLETE {
    let end = text.indexOf('"', start + 1);
    let doubled = false;
    while (end !== -1 && text.charCodeAt(end + 1) === QUOTE) {
      doubled = true;
      end = text.indexOf('"', end + 2);
    }
    if (end === -1 && last) throw this.#error(text, start, 'an unclosed quotation mark', this.#quotingRule());
    // The next character decides whether this mark closes the cell.
    if (end === -1 || (end + 1 >= text.length && !last)) return INCOMPLETE;
    const value = text.slice(start + 1, end);
    cells.push((doubled ? value.replaceAll('""', '"') : value) as ByteString);
    const mark = this.#crLines ? '\r' : '\n';
    for (let at = text.indexOf(mark, start); at !== -1 && at < end; at = text.indexOf(mark, at + 1)) {
      this.#lines++;
      this.#lineStart = at + 1;
    }
    return end + 1;
  }

  #quotingRule(): string {
    const delimiter = shownDelimiter(String.fromCharCode(this.#delimiter));
    return `Put a cell with quotation marks, line breaks or the delimiter (${delimiter}) in quotes, and double the quotes inside it.`;
  }

  #error(text: string, at: number, problem: string, remedy: string): InputError {
    const column = fromByteString(text.slice(this.#lineStart, at) as ByteString).length + 1;
    return new InputError(problem, { line: this.#line + this.#lines, column, remedy });
  }
}

const NOT_UTF8_REMEDY =
  'Save the file as UTF-8 ("CSV UTF-8" in Excel), or set its encoding with --encoding, such as windows-1252.';

/** The end of the spaces at `pos`, no-break spaces included. */
function spacesEnd(text: string, pos: number): number {
  let at = pos;
  for (;;) {
    if (text.charCodeAt(at) === SPACE) at++;
    else if (text.startsWith('\xc2\xa0', at)) at += 2;
    else return at;
  }
}
