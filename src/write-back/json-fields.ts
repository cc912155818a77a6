import { isUtf8 } from 'node:buffer';
import type { ByteString } from '../core/brands.js';
import { ConfigurationError } from '../core/errors.js';
import type { JsonScanner } from '../json/scanner.js';

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
 * Parses the fields of the JSON object at the scanner's position without parsing its values, so that numbers keep their
 * literals. Returns `null` if the scanner's text ends before the object.
 *
 * @throws JsonTextError for a text that is not an object, and for a duplicate field
 */
export function readFields(scanner: JsonScanner): Field[] | null {
  const { pos: start, breaks } = scanner;
  try {
    const fields = readObject(scanner);
    scanner.checkControls(start, breaks);
    checkUtf8(scanner.text.slice(start, scanner.pos), start);
    return fields;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (scanner.pos >= scanner.text.length) return null;
    throw new JsonTextError(error.message.replace(/ at byte \d+$/, ''), scanner.pos);
  }
}

function readObject(scanner: JsonScanner): Field[] {
  const fields: Field[] = [];
  const names = new Set<string>();
  if (scanner.peek() !== 0x7b) scanner.fail('expected an object');
  for (const [name, at] of scanner.members()) {
    if (names.has(name)) throw new JsonTextError('a duplicate field', at);
    names.add(name);
    const json = scanner.nested();
    fields.push({ name, content: json, json });
  }
  return fields;
}

function checkUtf8(text: string, at: number): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds bytes outside ASCII
  if (!/[^\x00-\x7f]/.test(text) || isUtf8(Buffer.from(text, 'latin1'))) return;
  throw new JsonTextError('the text is not UTF-8', at);
}
