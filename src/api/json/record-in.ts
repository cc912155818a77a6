import { type ByteString, fromByteString } from '../../core/brands.js';
import { JsonScanner } from '../../json/scanner.js';
import { type JsonValue, readValue } from '../../json/value.js';

/**
 * The record with this id in a body: the body as it is, or a member such as `data`, because the API does not show an envelope of a
 * single record. A service may answer any path with 200 and something else.
 *
 * @param field the key field
 * @returns the record's text; `null` if the body is not that record
 * @throws SyntaxError for incomplete JSON
 */
export function recordIn(body: ByteString, field: string, id: string): ByteString | null {
  const scanner = new JsonScanner(body);
  let own: string | null = null;
  let inner: { readonly id: string; readonly text: ByteString } | null = null;
  if (scanner.peek() !== OPEN_OBJECT) scanner.skip();
  else {
    for (const [name] of scanner.members()) {
      scanner.peek();
      const from = scanner.pos;
      const value = readValue(scanner);
      if (fromByteString(name) === field) own = textOf(value);
      const found = value.kind === 'object' ? textOf(value.members.get(field)) : null;
      if (found !== null) inner = { id: found, text: body.slice(from, scanner.pos) as ByteString };
    }
  }
  scanner.end();
  if (own !== null) return own === id ? body : null;
  return inner?.id === id ? inner.text : null;
}

const OPEN_OBJECT = 0x7b;

/** The text of a string or a number; `null` for any other value. */
function textOf(value: JsonValue | undefined): string | null {
  if (value?.kind === 'string') return value.text;
  return value?.kind === 'number' ? fromByteString(value.literal) : null;
}
