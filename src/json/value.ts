import { type ByteString, fromByteString } from '../core/brands.js';
import type { JsonScanner } from './scanner.js';

/** A JSON value that keeps the literals of its numbers. For a repeated member, the last one counts. */
export type JsonValue =
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, JsonValue> }
  | { readonly kind: 'array'; readonly items: readonly JsonValue[] }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'number'; readonly literal: ByteString }
  | { readonly kind: 'true' | 'false' | 'null' };

/** Deeper values are checked, but read as `null`. */
const MAX_DEPTH = 16;

/** Reads the value at the scanner's position. @throws SyntaxError */
export function readValue(scanner: JsonScanner, depth = 0): JsonValue {
  const code = scanner.peek();
  const kind = WORDS[code];
  if (kind !== undefined) {
    scanner.word(kind);
    return { kind };
  }
  if (code === 0x22) return { kind: 'string', text: fromByteString(scanner.string()) };
  if (code !== 0x7b && code !== 0x5b) return { kind: 'number', literal: scanner.number() };
  if (depth === MAX_DEPTH) {
    scanner.skip();
    return { kind: 'null' };
  }
  if (code === 0x5b) {
    const items: JsonValue[] = [];
    for (const _ of scanner.items()) items.push(readValue(scanner, depth + 1));
    return { kind: 'array', items };
  }
  const members = new Map<string, JsonValue>();
  for (const [name] of scanner.members()) members.set(fromByteString(name), readValue(scanner, depth + 1));
  return { kind: 'object', members };
}

/**
 * Whether `readValue` reads a value with all that it says: no member twice, no lone surrogate, and few levels of objects and lists.
 *
 * @throws SyntaxError
 */
export function isReadWhole(scanner: JsonScanner, levels: number): boolean {
  const code = scanner.peek();
  if (code === 0x5b) {
    for (const _ of scanner.items()) if (levels === 0 || !isReadWhole(scanner, levels - 1)) return false;
  } else if (code === 0x7b) {
    const names = new Set<ByteString>();
    for (const [name] of scanner.members()) {
      if (levels === 0 || names.has(name) || !isReadWhole(scanner, levels - 1)) return false;
      names.add(name);
    }
  } else readValue(scanner);
  return scanner.replaced === 0;
}

/** By their first characters. */
const WORDS: Readonly<Record<number, 'true' | 'false' | 'null'>> = { 116: 'true', 102: 'false', 110: 'null' };

/** The value at a JSON pointer (RFC 6901); `null` if there is none. */
export function valueAtPointer(value: JsonValue, pointer: string): JsonValue | null {
  let found: JsonValue | undefined = value;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (found?.kind === 'object') found = found.members.get(name);
    else if (found?.kind === 'array')
      found = /^(?:0|[1-9]\d*)$/.test(name) ? found.items[Number(name)] : undefined;
    else return null;
  }
  return found ?? null;
}

/** The JSON text of a value. */
export function jsonText(value: JsonValue): string {
  switch (value.kind) {
    case 'object':
      return `{${Array.from(value.members, ([name, one]) => `${JSON.stringify(name)}:${jsonText(one)}`).join(',')}}`;
    case 'array':
      return `[${value.items.map(jsonText).join(',')}]`;
    case 'string':
      return JSON.stringify(value.text);
    case 'number':
      return value.literal;
    default:
      return value.kind;
  }
}
