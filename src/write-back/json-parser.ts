import type { ByteString } from '../core/brands.js';
import { MAX_RECORD_BYTES } from './csv-parser.js';
import { InputError } from './input-error.js';
import { type Field, JsonTextError, readFields } from './json-fields.js';

/** An object of the file. */
export interface JsonRecord {
  readonly line: number;
  readonly fields: readonly Field[];
}

/** State of both JSON parsers: the unparsed text and its position in the file. */
abstract class JsonText {
  protected rest = '';
  protected line = 1;
  /** Characters before `rest` in the current line. */
  #column = 0;

  /** Consumes the first `length` bytes of `rest`. */
  protected advance(length: number): void {
    const consumed = this.rest.slice(0, length);
    this.rest = this.rest.slice(length);
    this.#move(consumed);
  }

  protected object(text: string): JsonRecord {
    try {
      return { line: this.line, fields: readFields(text as ByteString) };
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error;
      throw this.error(error.message, error.at);
    }
  }

  /** @param at offset in `rest` */
  protected error(problem: string, at = 0, remedy: string | null = null): InputError {
    this.#move(this.rest.slice(0, at));
    return new InputError(problem, { line: this.line, column: this.#column + 1 }, remedy);
  }

  protected checkLength(): void {
    if (this.rest.length <= MAX_RECORD_BYTES) return;
    throw this.error(
      `the object that starts here is longer than ${MAX_RECORD_BYTES / 1024 ** 2} MiB`,
      0,
      'Check for an unclosed quotation mark or brace.',
    );
  }

  #move(text: string): void {
    let from = 0;
    for (let lf = text.indexOf('\n'); lf !== -1; lf = text.indexOf('\n', from)) {
      this.line++;
      this.#column = 0;
      from = lf + 1;
    }
    // Continuation bytes of UTF-8 do not count as characters.
    for (let at = from; at < text.length; at++) if ((text.charCodeAt(at) & 0xc0) !== 0x80) this.#column++;
  }
}

/** Parses one JSON object per line and skips blank lines. Throws InputError with line and column. */
export class NdjsonParser extends JsonText {
  push(chunk: string): JsonRecord[] {
    this.rest += chunk;
    const records: JsonRecord[] = [];
    const text = this.rest;
    let from = 0;
    for (let lf = text.indexOf('\n'); lf !== -1; lf = text.indexOf('\n', from)) {
      this.#line(text.slice(from, lf), records);
      this.advance(lf + 1 - from);
      from = lf + 1;
    }
    this.checkLength();
    return records;
  }

  finish(): JsonRecord[] {
    const records: JsonRecord[] = [];
    this.#line(this.rest, records);
    return records;
  }

  #line(text: string, records: JsonRecord[]): void {
    if (/\S/.test(text)) records.push(this.object(text));
  }
}

/** Parses an array of objects, one object at a time. Throws InputError with line and column. */
export class JsonArrayParser extends JsonText {
  #next: 'array' | 'first' | 'object' | 'comma' | 'nothing' = 'array';

  push(chunk: string): JsonRecord[] {
    this.rest += chunk;
    const records: JsonRecord[] = [];
    // Elements are taken from `text`; `rest` follows at the end, for cutting a string once for each is dear.
    while (this.#step(records));
    this.checkLength();
    return records;
  }

  finish(): JsonRecord[] {
    if (this.#next === 'nothing') return [];
    throw this.error('the array is not closed', this.rest.length);
  }

  #step(records: JsonRecord[]): boolean {
    const space = /^[ \t\r\n]*/.exec(this.rest)![0].length;
    if (space > 0) this.advance(space);
    if (this.rest === '') return false;
    const code = this.rest[0];
    switch (this.#next) {
      case 'array':
        if (code !== '[') throw this.error('expected an array of objects', 0, NDJSON_HINT);
        this.#next = 'first';
        break;
      case 'comma':
        if (code !== ',' && code !== ']') throw this.error('expected "," or "]"');
        this.#next = code === ',' ? 'object' : 'nothing';
        break;
      case 'nothing':
        throw this.error('text after the end of the array', 0, NDJSON_HINT);
      default: {
        if (this.#next === 'first' && code === ']') {
          this.#next = 'nothing';
          break;
        }
        if (code !== '{') throw this.error('expected an object');
        const end = objectEnd(this.rest);
        if (end === -1) return false;
        records.push(this.object(this.rest.slice(0, end)));
        this.advance(end);
        this.#next = 'comma';
        return true;
      }
    }
    this.advance(1);
    return true;
  }
}

const NDJSON_HINT = 'For one object per line, use --format ndjson.';

/** Offset after the brace that closes the object at 0; -1 if it has not arrived yet. */
function objectEnd(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b) depth++;
    else if (code === 0x7d && --depth === 0) return at + 1;
    else if (code === 0x22) {
      at = stringEnd(text, at);
      if (at === -1) return -1;
    }
  }
  return -1;
}

/** Offset of the quotation mark that closes the string at `start`; -1 if it has not arrived yet. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
