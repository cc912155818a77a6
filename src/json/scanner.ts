import type { ByteString } from '../core/brands.js';
import { JsonError } from './json-error.js';
import { checkEscape, controlInString, countControls, decodeString } from './string.js';
import { TextPieces } from './text-pieces.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MAX_DEPTH = 1000;

/** Text that can be read in pieces: a string, or bytes that become one. */
export interface JsonSource {
  /** In bytes. */
  readonly length: number;
  /** As `String.slice`. @returns a `ByteString` */
  slice(from: number, to?: number): string;
}

/**
 * Scans JSON text (RFC 8259) without building values, so that no value changes: a number keeps its literal and a nested
 * value keeps its text (docs/explanation/guarantees.md#values). One instance reads one body.
 *
 * Every method expects `pos` at the first character of the value and leaves it after the last one. Malformed or truncated
 * text throws `JsonError`. If the text ends too early, `pos` is then at its end.
 */
export class JsonScanner {
  /** All of the text, or the window that is read now. */
  text: ByteString;
  pos = 0;
  /** Number of lone surrogates replaced by U+FFFD so far. */
  replaced = 0;
  /** Number of tabs and line breaks between tokens so far. `end` compares it with all control characters in the text. */
  breaks = 0;
  /** Number of gaps with white space between tokens so far. */
  #gaps = 0;
  /** Offset of the next backslash. Most strings have none and end at the next quotation mark. */
  #backslash: number;
  readonly #source: JsonSource;
  readonly #windowBytes: number;
  /** Offset of the window's end in the source. */
  #windowEnd: number;
  /** `breaks` at the start of the window. */
  #breaksBefore = 0;

  /** @param windowBytes how much of the source becomes text at a time, as far as `itemsInWindows` reads it */
  constructor(source: JsonSource, windowBytes = source.length) {
    this.#source = source;
    this.#windowBytes = windowBytes;
    this.#windowEnd = endOfWindow(source, 0, windowBytes);
    this.text = source.slice(0, this.#windowEnd) as ByteString;
    this.#backslash = this.text.indexOf('\\');
  }

  fail(what: string): never {
    throw new JsonError(what, this.pos >= this.text.length ? null : this.pos);
  }

  /** Skips white space and returns the code of the next character; -1 at the end. */
  peek(): number {
    const { text } = this;
    let { pos } = this;
    let code = text.charCodeAt(pos);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      if (code !== 0x20) this.breaks++;
      code = text.charCodeAt(++pos);
    }
    if (pos !== this.pos) {
      this.#gaps++;
      this.pos = pos;
    }
    return pos < text.length ? code : -1;
  }

  /** Skips white space and reads one structural character. */
  expect(code: number): void {
    if (this.peek() !== code) this.fail(`expected ${JSON.stringify(String.fromCharCode(code))}`);
    this.pos++;
  }

  /**
   * Call it after the value: only white space may follow. It also rejects control characters inside strings (RFC 8259
   * section 7). It checks the whole text in one call, because a check for each string would be slower.
   */
  end(): void {
    if (this.peek() !== -1) this.fail('unexpected text after the end of the value');
    this.checkControls(0, this.#breaksBefore);
  }

  /** Rejects control characters inside strings since the offset `start`, where `breaks` was `breaksBefore`. */
  checkControls(start: number, breaksBefore: number): void {
    const read = this.text.slice(start, this.pos) as ByteString;
    if (countControls(read) === this.breaks - breaksBefore) return;
    this.pos = start + controlInString(read);
    this.fail('a string contains an unescaped control character');
  }

  /** Offset of the quotation mark that closes the string at `pos`. */
  #stringEnd(): number {
    const { text } = this;
    const start = this.pos + 1;
    if (this.#backslash !== -1 && this.#backslash < start) this.#backslash = text.indexOf('\\', start);
    let end = text.indexOf('"', start);
    while (end !== -1 && this.#backslash !== -1 && this.#backslash < end) {
      checkEscape(text, this.#backslash);
      // The character after a backslash never ends the string, even if it is a quotation mark.
      const behind = this.#backslash + 2;
      this.#backslash = text.indexOf('\\', behind);
      if (end < behind) end = text.indexOf('"', behind);
    }
    if (end === -1) {
      this.pos = text.length;
      this.fail('a string is not closed');
    }
    return end;
  }

  /** Reads a string and returns its value. */
  string(): ByteString {
    if (this.text.charCodeAt(this.pos) !== QUOTE) this.fail('expected a string');
    const start = this.pos + 1;
    if (this.#backslash !== -1 && this.#backslash < start) this.#backslash = this.text.indexOf('\\', start);
    const firstEscape = this.#backslash;
    const end = this.#stringEnd();
    this.pos = end + 1;
    const raw = this.text.slice(start, end) as ByteString;
    if (firstEscape === -1 || firstEscape >= end) return raw;
    const decoded = decodeString(raw);
    this.replaced += decoded.replaced;
    return decoded.value;
  }

  /** Reads a number and returns its literal. */
  number(): ByteString {
    const { text } = this;
    const start = this.pos;
    let at = start;
    const digits = (): void => {
      const from = at;
      while (isDigit(text.charCodeAt(at))) at++;
      if (at === from) {
        this.pos = at;
        this.fail('expected a digit');
      }
    };
    if (text.charCodeAt(at) === 0x2d) at++;
    if (text.charCodeAt(at) === 0x30) at++;
    else digits();
    if (text.charCodeAt(at) === 0x2e) {
      at++;
      digits();
    }
    if ((text.charCodeAt(at) | 0x20) === 0x65) {
      at++;
      const sign = text.charCodeAt(at);
      if (sign === 0x2b || sign === 0x2d) at++;
      digits();
    }
    this.pos = at;
    return text.slice(start, at) as ByteString;
  }

  /** Reads one of the words `true`, `false`, `null`. */
  word(word: 'true' | 'false' | 'null'): void {
    if (!this.text.startsWith(word, this.pos)) {
      if (word.startsWith(this.text.slice(this.pos))) this.pos = this.text.length;
      this.fail('expected a value');
    }
    this.pos += word.length;
  }

  /**
   * Reads the object at `pos`. Yields the name of each member and its offset, with `pos` at the value, which the caller
   * must read.
   */
  *members(): Generator<readonly [name: ByteString, at: number], void> {
    this.pos++;
    if (this.peek() === 0x7d) {
      this.pos++;
      return;
    }
    for (;;) {
      this.peek();
      const at = this.pos;
      const name = this.string();
      this.expect(0x3a);
      this.peek();
      yield [name, at];
      const code = this.peek();
      if (code !== 0x7d && code !== 0x2c) this.fail('expected "," or "}"');
      this.pos++;
      if (code === 0x7d) return;
    }
  }

  /** Reads the array at `pos`. Yields the index of each item, with `pos` at the item, which the caller must read. */
  *items(): Generator<number, void> {
    this.pos++;
    if (this.peek() === 0x5d) {
      this.pos++;
      return;
    }
    for (let index = 0; ; index++) {
      this.peek();
      yield index;
      const code = this.peek();
      if (code !== 0x5d && code !== 0x2c) this.fail('expected "," or "]"');
      this.pos++;
      if (code === 0x5d) return;
    }
  }

  /**
   * Reads the array at `pos` window by window, so that no more text than a window is in memory. The rest of the source is then the window.
   *
   * @param read reads one item. If the window ends within it, it is called again with a larger one.
   */
  *itemsInWindows<T>(read: (index: number) => T): Generator<T, void> {
    this.pos++;
    let code = this.#peekOn();
    for (let index = 0; code !== 0x5d; index++) {
      if (index > 0) {
        if (code !== 0x2c) this.fail('expected "," or "]"');
        this.pos++;
        this.#peekOn();
      }
      yield this.#readWhole(read, index);
      code = this.#peekOn();
    }
    this.pos++;
    this.#loadFrom(this.pos, Number.POSITIVE_INFINITY);
  }

  /** As `peek`, between two tokens: at the end of a window, it continues with the next one. */
  #peekOn(): number {
    const code = this.peek();
    return code === -1 && this.#loadFrom(this.pos, this.#windowBytes) ? this.#peekOn() : code;
  }

  #readWhole<T>(read: (index: number) => T, index: number): T {
    for (let bytes = this.#windowBytes; ; bytes *= 2) {
      const { pos, breaks, replaced } = this;
      const gaps = this.#gaps;
      try {
        return read(index);
      } catch (error) {
        if (!(error instanceof JsonError && error.isCut)) throw error;
        [this.breaks, this.replaced, this.#gaps] = [breaks, replaced, gaps];
        if (!this.#loadFrom(pos, bytes)) throw error;
      }
    }
  }

  /** Makes text of what follows `pos`, after a check of what is before it. Returns false if all of it is in the window. */
  #loadFrom(pos: number, windowBytes: number): boolean {
    if (this.#windowEnd === this.#source.length) return false;
    this.pos = pos;
    this.checkControls(0, this.#breaksBefore);
    const from = this.#windowEnd - this.text.length + pos;
    this.#windowEnd = endOfWindow(this.#source, from, windowBytes);
    this.#breaksBefore = this.breaks;
    this.text = this.#source.slice(from, this.#windowEnd) as ByteString;
    this.pos = 0;
    this.#backslash = this.text.indexOf('\\');
    return true;
  }

  /** Skips one value of any kind. */
  skip(depth = 0): void {
    if (depth > MAX_DEPTH) this.fail(`values are nested more than ${MAX_DEPTH} levels deep`);
    const code = this.text.charCodeAt(this.pos);
    if (code === QUOTE) this.pos = this.#stringEnd() + 1;
    else if (code === 0x7b) this.#skipMembers(0x7d, depth);
    else if (code === 0x5b) this.#skipMembers(0x5d, depth);
    else if (code === 0x74) this.word('true');
    else if (code === 0x66) this.word('false');
    else if (code === 0x6e) this.word('null');
    else this.number();
  }

  #skipMembers(close: number, depth: number): void {
    this.pos++;
    if (this.peek() === close) {
      this.pos++;
      return;
    }
    for (;;) {
      if (close === 0x7d) {
        if (this.peek() !== QUOTE) this.fail('expected a field name');
        this.pos = this.#stringEnd() + 1;
        this.expect(0x3a);
      }
      this.peek();
      this.skip(depth + 1);
      const code = this.peek();
      if (code !== close && code !== 0x2c)
        this.fail(`expected "," or ${JSON.stringify(String.fromCharCode(close))}`);
      this.pos++;
      if (code === close) return;
    }
  }

  /** Reads an object or array and returns its JSON text without white space between tokens. */
  nested(): ByteString {
    const [start, gaps] = [this.pos, this.#gaps];
    this.skip();
    const raw = this.text.slice(start, this.pos) as ByteString;
    return this.#gaps === gaps ? raw : compact(raw);
  }
}

/** A window ends behind a comma, and so within no number, whose beginning would also be one; if possible, behind an object. */
function endOfWindow(source: JsonSource, from: number, bytes: number): number {
  for (let most = bytes; from + most < source.length; most *= 2) {
    const text = source.slice(from, from + most);
    const object = text.lastIndexOf('},');
    const comma = object === -1 ? text.lastIndexOf(',') : object + 1;
    if (comma !== -1) return from + comma + 1;
  }
  return source.length;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Removes the white space between the tokens of well-formed JSON text. White space inside strings is kept. */
export function compact(json: ByteString): ByteString {
  const out = new TextPieces();
  let from = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) {
      inString = true;
    } else if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      out.add(json.slice(from, at));
      from = at + 1;
    }
  }
  out.add(json.slice(from));
  return out.text() as ByteString;
}
