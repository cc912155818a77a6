import { isUtf8 } from 'node:buffer';
import type { ByteString } from '../core/brands.js';
import { ConfigurationError } from '../core/configuration-error.js';
import { JsonScanner } from '../json/scanner.js';

/** A field of a row. */
export interface Field {
  readonly name: ByteString;
  /** The value for comparing rows: a cell's text, or compact JSON. */
  readonly content: ByteString;
  /** The value as JSON, with its original literals. */
  readonly json: ByteString;
}

/** An error in a JSON text, with its byte offset. */
export class JsonTextError extends ConfigurationError {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/**
 * Parses the fields of one JSON object without parsing its values, so that numbers keep their literals.
 *
 * @throws JsonTextError for a text that is not a single object, and for a duplicate field
 */
export function readFields(text: ByteString): Field[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds bytes outside ASCII
  if (/[^\x00-\x7f]/.test(text) && !isUtf8(Buffer.from(text, 'latin1'))) {
    throw new JsonTextError('the text is not UTF-8', 0);
  }
  const scanner = new JsonScanner(text);
  try {
    const fields = readObject(scanner);
    if (scanner.peek() !== -1) throw new JsonTextError('text after the end of the object', scanner.pos);
    scanner.end();
    return fields;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new JsonTextError(error.message.replace(/ at (?:byte \d+|the end of the body)$/, ''), scanner.pos);
  }
}

function readObject(scanner: JsonScanner): Field[] {
  const fields: Field[] = [];
  const names = new Set<string>();
  if (scanner.peek() !== 0x7b) throw new JsonTextError('expected an object', scanner.pos);
  scanner.pos++;
  if (scanner.peek() === 0x7d) {
    scanner.pos++;
    return fields;
  }
  for (;;) {
    scanner.peek();
    const at = scanner.pos;
    const name = scanner.string();
    if (names.has(name)) throw new JsonTextError('a duplicate field', at);
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
