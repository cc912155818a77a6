import type { ByteString } from '../../core/brands.js';
import { JsonScanner } from '../../json/scanner.js';

const OPEN_OBJECT = 0x7b;
const QUOTE = 0x22;

/**
 * Whether a body is the record with this id: as it is, or as a member such as `data`, because the API does not show an envelope
 * of a single record. A service may answer any path with 200 and something else.
 *
 * @param field the key field
 * @throws SyntaxError for incomplete JSON
 */
export function hasId(body: ByteString, field: ByteString, id: ByteString): boolean {
  const scanner = new JsonScanner(body);
  const found = readObject(scanner, field, 1);
  scanner.end();
  return found === id;
}

/** The text of the field in the object at the scanner's position, or in one of its members; `null` for none. */
function readObject(scanner: JsonScanner, field: ByteString, levels: number): ByteString | null {
  if (scanner.peek() !== OPEN_OBJECT) {
    scanner.skip();
    return null;
  }
  let own: ByteString | null = null;
  let inner: ByteString | null = null;
  for (const [name] of scanner.members()) {
    if (name === field) own = readText(scanner) ?? own;
    else if (levels > 0) inner = readObject(scanner, field, levels - 1) ?? inner;
    else scanner.skip();
  }
  return own ?? inner;
}

/** The text of a string or a number; `null` for any other value. */
function readText(scanner: JsonScanner): ByteString | null {
  const code = scanner.peek();
  if (code === QUOTE) return scanner.string();
  if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return scanner.number();
  scanner.skip();
  return null;
}
