import { isUtf8 } from 'node:buffer';
import { type ByteString, fromByteString } from '../core/brands.js';
import { InputError } from './input-error.js';

/** A row as it stands in the file. */
export interface CsvRecord {
  /** Where it begins, from 1. */
  readonly line: number;
  /** `null` for an empty unquoted cell, `''` for `""`. */
  readonly cells: readonly (ByteString | null)[];
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/** A longer record means a quotation mark that nobody closed, bytes. */
export const LONGEST_RECORD = 8 * 1024 * 1024;

/** The record goes on beyond the text that has come so far. */
const MORE = Symbol('more');

/**
 * Reads CSV strictly (RFC 4180: commas, double quotes; LF or CRLF), piece by piece, so that a file of any size takes
 * the memory of one record. Lines without anything are passed over.
 *
 * Text is bytes, one a character. Whatever is not CSV throws InputError with line and column.
 */
export class CsvParser {
  #rest = '';
  #line = 1;
  /** Of the record under way: where its current line begins. */
  #lineStart = 0;
  #lines = 0;

  /** Takes the next piece and returns the records that it completes. */
  push(piece: string): CsvRecord[] {
    return this.#take(piece, 'open');
  }

  /** The last record, where no line break ends it. */
  finish(): CsvRecord[] {
    return this.#take('', 'end');
  }

  #take(piece: string, state: 'open' | 'end'): CsvRecord[] {
    const text = this.#rest + piece;
    const records: CsvRecord[] = [];
    let at = 0;
    while (at < text.length) {
      this.#lineStart = at;
      this.#lines = 0;
      const cells: (ByteString | null)[] = [];
      const end = this.#record(text, at, state === 'end', cells);
      if (end === MORE) break;
      this.#checkText(text, at, end);
      if (cells.length > 1 || cells[0] !== null) records.push({ line: this.#line, cells });
      this.#line += this.#lines + 1;
      at = end;
    }
    this.#rest = text.slice(at);
    if (this.#rest.length > LONGEST_RECORD) {
      throw new InputError(
        `the row that begins here is longer than ${LONGEST_RECORD / 1024 ** 2} MiB`,
        { line: this.#line },
        'Is a quotation mark not closed?',
      );
    }
    return records;
  }

  /** Reads the record at `at` into `cells`. Returns where the next one begins. */
  #record(text: string, at: number, last: boolean, cells: (ByteString | null)[]): number | typeof MORE {
    for (let pos = at; ; pos++) {
      const quoted = text.charCodeAt(pos) === QUOTE;
      const end = quoted ? this.#quoted(text, pos, last, cells) : this.#plain(text, pos, cells);
      if (end === MORE) return MORE;
      pos = end;
      if (pos >= text.length) return last ? pos : MORE;
      const code = text.charCodeAt(pos);
      if (code === COMMA) {
        // A comma at the very end has an empty cell behind it.
        if (pos + 1 < text.length || !last) continue;
        cells.push(null);
        return pos + 1;
      }
      if (code === LF) return pos + 1;
      if (code === CR) {
        if (pos + 1 >= text.length) return last ? pos + 1 : MORE;
        if (text.charCodeAt(pos + 1) === LF) return pos + 2;
        throw this.#error(
          text,
          pos,
          'a carriage return without a line feed',
          'Save the file with LF or CRLF line ends, or put the value in quotes.',
        );
      }
      throw this.#error(text, pos, 'text behind the closing quotation mark', DOUBLED);
    }
  }

  #plain(text: string, start: number, cells: (ByteString | null)[]): number {
    let end = start;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === COMMA || code === LF || code === CR) break;
      if (code === QUOTE)
        throw this.#error(text, end, 'a quotation mark inside a cell without quotes', DOUBLED);
    }
    cells.push(end === start ? null : (text.slice(start, end) as ByteString));
    return end;
  }

  #quoted(text: string, start: number, last: boolean, cells: (ByteString | null)[]): number | typeof MORE {
    let end = text.indexOf('"', start + 1);
    let doubled = false;
    while (end !== -1 && text.charCodeAt(end + 1) === QUOTE) {
      doubled = true;
      end = text.indexOf('"', end + 2);
    }
    if (end === -1 && last) throw this.#error(text, start, 'a quotation mark that is never closed', DOUBLED);
    // What comes next decides whether this mark closes the cell.
    if (end === -1 || (end + 1 >= text.length && !last)) return MORE;
    const value = text.slice(start + 1, end);
    cells.push((doubled ? value.replaceAll('""', '"') : value) as ByteString);
    for (let lf = text.indexOf('\n', start); lf !== -1 && lf < end; lf = text.indexOf('\n', lf + 1)) {
      this.#lines++;
      this.#lineStart = lf + 1;
    }
    return end + 1;
  }

  #checkText(text: string, from: number, to: number): void {
    const record = text.slice(from, to);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes outside ASCII are what is looked for
    if (!/[^\x00-\x7f]/.test(record) || isUtf8(Buffer.from(record, 'latin1'))) return;
    throw new InputError('the text is not UTF-8', { line: this.#line }, 'Save the file as UTF-8.');
  }

  #error(text: string, at: number, problem: string, remedy: string): InputError {
    const column = fromByteString(text.slice(this.#lineStart, at) as ByteString).length + 1;
    return new InputError(problem, { line: this.#line + this.#lines, column }, remedy);
  }
}

const DOUBLED =
  'A cell with quotation marks, commas or line breaks stands in quotes, with its own quotes doubled.';
