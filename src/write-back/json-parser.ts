import type { ByteString } from '../core/brands.js';
import { InputError } from '../core/input-error.js';
import { JsonError } from '../json/json-error.js';
import { JsonScanner } from '../json/scanner.js';
import { MAX_RECORD_BYTES } from './csv-parser.js';
import type { Field } from './fields.js';
import { isUtf8Text } from './input-format.js';

export interface JsonRecord {
  readonly line: number;
  readonly fields: readonly Field[];
}

/** State of both JSON parsers: the text that is not parsed yet, and its position in the file. */
abstract class JsonText {
  protected text = '' as ByteString;
  /** Position of the offset `#counted` in the file. `#column` counts the characters before it in its line. */
  #counted = 0;
  #line = 1;
  #column = 0;

  protected append(chunk: string): void {
    this.text = (this.text + chunk) as ByteString;
  }

  /** Removes the parsed text. @throws InputError if the rest is longer than one object may be */
  protected removeBefore(offset: number): void {
    this.#countTo(offset);
    this.text = this.text.slice(offset) as ByteString;
    this.#counted = 0;
    if (this.text.length <= MAX_RECORD_BYTES) return;
    throw this.error(
      `the object that starts here is longer than ${MAX_RECORD_BYTES / 1024 ** 2} MiB`,
      0,
      'Check for an unclosed quotation mark or brace.',
    );
  }

  /**
   * Reads the object at the scanner's position, without parsing its values, so that numbers keep their literals. Returns `null`
   * if the scanner's text ends before the object.
   *
   * @param from offset of the scanner's text in `text`
   * @throws InputError for a text that is not an object, and for a duplicate field
   */
  protected object(scanner: JsonScanner, from: number): JsonRecord | null {
    this.#countTo(from + scanner.pos);
    const line = this.#line;
    const { pos: start, breaks } = scanner;
    try {
      const fields = this.#fields(scanner, from);
      scanner.checkControls(start, breaks);
      if (isUtf8Text(scanner.text.slice(start, scanner.pos))) return { line, fields };
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      if (scanner.pos >= scanner.text.length) return null;
      throw this.error(error.problem, from + scanner.pos);
    }
    throw this.error('the text is not UTF-8', from + start);
  }

  #fields(scanner: JsonScanner, from: number): Field[] {
    const fields: Field[] = [];
    const names = new Set<string>();
    if (scanner.peek() !== 0x7b) scanner.fail('expected an object');
    for (const [name, at] of scanner.members()) {
      if (names.has(name)) throw this.error('a duplicate field', from + at);
      names.add(name);
      const json = scanner.nested();
      fields.push({ name, json });
    }
    return fields;
  }

  /** @param at offset in `text` */
  protected error(problem: string, at: number, remedy: string | null = null): InputError {
    this.#countTo(at);
    return new InputError(problem, { line: this.#line, column: this.#column + 1, remedy });
  }

  #countTo(offset: number): void {
    const text = this.text.slice(this.#counted, offset);
    let from = 0;
    for (let lf = text.indexOf('\n'); lf !== -1; lf = text.indexOf('\n', from)) {
      this.#line++;
      this.#column = 0;
      from = lf + 1;
    }
    // Continuation bytes of UTF-8 do not count as characters.
    for (let at = from; at < text.length; at++) if ((text.charCodeAt(at) & 0xc0) !== 0x80) this.#column++;
    this.#counted = offset;
  }
}

/** Parses one JSON object per line and skips blank lines. Throws InputError with line and column. */
export class NdjsonParser extends JsonText {
  readonly isExport = false;

  parse(chunk: string, state: 'open' | 'end'): JsonRecord[] {
    this.append(chunk);
    const records: JsonRecord[] = [];
    let from = 0;
    for (let lf = this.text.indexOf('\n'); lf !== -1; lf = this.text.indexOf('\n', from)) {
      records.push(...this.#line(from, lf));
      from = lf + 1;
    }
    if (state === 'end') return [...records, ...this.#line(from, this.text.length)];
    this.removeBefore(from);
    return records;
  }

  #line(from: number, to: number): JsonRecord[] {
    const scanner = new JsonScanner(this.text.slice(from, to) as ByteString);
    if (scanner.peek() === -1) return [];
    const record = this.object(scanner, from);
    if (record === null) throw this.error('the object is not closed', to, 'Write each object on one line.');
    if (scanner.peek() !== -1) throw this.error('text after the end of the object', from + scanner.pos);
    return [record];
  }
}

/**
 * Parses an array of objects, one object at a time; also the array `rows` in the output of `worktrack cat --json`. Throws
 * InputError with line and column.
 */
export class JsonArrayParser extends JsonText {
  #next: 'array' | 'first' | 'object' | 'comma' | 'after' | 'nothing' = 'array';
  /** Whether the array is that of `worktrack cat --json`, whose values are the texts of cells. */
  isExport = false;
  /** An incomplete object is read again when the text has doubled, so that the time does not grow with the square. */
  #readAt = 0;

  parse(chunk: string, state: 'open' | 'end'): JsonRecord[] {
    this.append(chunk);
    if (state === 'open' && this.text.length < this.#readAt) return [];
    const records = this.#read();
    if (state === 'open' || this.#next === 'nothing') return records;
    throw this.error('the array is not closed', this.text.length);
  }

  #read(): JsonRecord[] {
    const records: JsonRecord[] = [];
    const scanner = new JsonScanner(this.text);
    while (scanner.peek() !== -1) {
      const start = scanner.pos;
      if (this.#step(scanner, records)) continue;
      scanner.pos = start;
      break;
    }
    this.removeBefore(scanner.pos);
    this.#readAt = Math.min(2 * this.text.length, MAX_RECORD_BYTES + 1);
    return records;
  }

  /** Reads the next token or object; `false` if it is incomplete. */
  #step(scanner: JsonScanner, records: JsonRecord[]): boolean {
    const { pos } = scanner;
    const code = this.text[pos];
    switch (this.#next) {
      case 'array':
        if (code === '{') return this.#exportHead(scanner);
        if (code !== '[') throw this.error('expected an array of objects', pos, NDJSON_HINT);
        this.#next = 'first';
        break;
      case 'after':
        // Members behind `rows` are not part of the output, so only its end can follow.
        if (code !== '}') throw this.error('expected "}"', pos);
        this.#next = 'nothing';
        break;
      case 'comma':
        if (code !== ',' && code !== ']') throw this.error('expected "," or "]"', pos);
        this.#next = code === ',' ? 'object' : this.#end();
        break;
      case 'nothing':
        throw this.error('text after the end of the array', pos, NDJSON_HINT);
      default: {
        if (this.#next === 'first' && code === ']') {
          this.#next = this.#end();
          break;
        }
        const record = this.object(scanner, 0);
        if (record === null) return false;
        records.push(record);
        this.#next = 'comma';
        return true;
      }
    }
    scanner.pos++;
    return true;
  }

  #end(): 'after' | 'nothing' {
    return this.isExport ? 'after' : 'nothing';
  }

  /** Reads the output of `worktrack cat --json` up to the array of its rows; `false` if it is incomplete. */
  #exportHead(scanner: JsonScanner): boolean {
    const { pos: start } = scanner;
    try {
      for (const [name] of scanner.members()) {
        if (name === 'rows' && scanner.peek() === 0x5b) {
          scanner.pos++;
          this.isExport = true;
          this.#next = 'first';
          return true;
        }
        if (!EXPORT_HEAD.includes(name)) break;
        scanner.skip();
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      if (scanner.pos >= this.text.length) return false;
    }
    throw this.error('expected an array of objects', start, NDJSON_HINT);
  }
}

/** The members of `worktrack cat --json` before its rows. */
const EXPORT_HEAD: readonly string[] = ['resource', 'runId', 'columns'];

const NDJSON_HINT = 'For one object per line, use --format ndjson.';
