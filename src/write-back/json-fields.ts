import { isUtf8 } from 'node:buffer';
import { JsonScanner } from '../api/json/scanner.js';
import type { ByteString } from '../core/brands.js';

/** A field of a row. */
export interface Field {
  readonly name: ByteString;
  /** What tells this value from others: a cell's text, or compact JSON. */
  readonly content: ByteString;
  /** The value as JSON, literals as they were written. */
  readonly json: ByteString;
}

/** What is wrong with a JSON text, and at which byte of it. */
export class JsonFault extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/**
 * Reads the fields of one JSON object without building its values, so that numbers keep their literals.
 *
 * @throws JsonFault for text that is no single object, and for a field that comes twice
 */
export function readFields(text: ByteString): Field[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: bytes outside ASCII are what is looked for
  if (/[^\x00-\x7f]/.test(text) && !isUtf8(Buffer.from(text, 'latin1'))) {
    throw new JsonFault('the text is not UTF-8', 0);
  }
  const scanner = new JsonScanner(text);
  try {
    const fields = readObject(scanner);
    if (scanner.peek() !== -1) throw new JsonFault('text behind the end of the object', scanner.pos);
    return fields;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new JsonFault(error.message.replace(/ at (?:byte \d+|the end of the body)$/, ''), scanner.pos);
  }
}

function readObject(scanner: JsonScanner): Field[] {
  const fields: Field[] = [];
  const names = new Set<string>();
  if (scanner.peek() !== 0x7b) throw new JsonFault('expected an object', scanner.pos);
  scanner.pos++;
  if (scanner.peek() === 0x7d) {
    scanner.pos++;
    return fields;
  }
  for (;;) {
    scanner.peek();
    const at = scanner.pos;
    const name = scanner.string();
    if (names.has(name)) throw new JsonFault('a field comes twice', at);
    names.add(name);
    scanner.expect(0x3a);
    scanner.peek();
    const json = scanner.nested();
    fields.push({ name, content: json, json });
    const code = scanner.peek();
    scanner.pos++;
    if (code === 0x7d) return fields;
    if (code !== 0x2c) {
      scanner.pos--;
      scanner.fail('expected "," or "}"');
    }
  }
}
