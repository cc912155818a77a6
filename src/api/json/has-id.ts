import { type ByteString, fromByteString } from '../../core/brands.js';
import { JsonScanner } from '../../json/scanner.js';
import { type JsonValue, readValue } from '../../json/value.js';

/**
 * Whether a body is the record with this id: as it is, or as a member such as `data`, because the API does not show an envelope
 * of a single record. A service may answer any path with 200 and something else.
 *
 * @param field the key field
 * @throws SyntaxError for incomplete JSON
 */
export function hasId(body: ByteString, field: string, id: string): boolean {
  const scanner = new JsonScanner(body);
  const record = readValue(scanner);
  scanner.end();
  const members = record.kind === 'object' ? [...record.members.values()] : [];
  const found = textAt(record, field) ?? members.map((inner) => textAt(inner, field)).findLast(isText);
  return found === id;
}

const isText = (text: string | null): boolean => text !== null;

/** The text of a string or a number in a field of an object; `null` for any other value. */
function textAt(value: JsonValue, field: string): string | null {
  const found = value.kind === 'object' ? value.members.get(field) : undefined;
  if (found?.kind === 'string') return found.text;
  return found?.kind === 'number' ? fromByteString(found.literal) : null;
}
