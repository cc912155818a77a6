import type { ByteString } from '../core/brands.js';
import { JsonScanner } from './scanner.js';
import { TextPieces } from './text-pieces.js';

const HEX = '0123456789abcdef';
/** Numbers that JSON cannot write. Some libraries write them nevertheless. */
const NO_NUMBER = /-?(?:NaN|Infinity)\b/y;

/**
 * Turns two common deviations into JSON (RFC 8259): raw control characters in strings become escapes of the same
 * characters, and `NaN`, `Infinity` and `-Infinity` become null. Null if there is nothing to repair, or if the text is not
 * JSON even then.
 */
export function repairJson(json: ByteString): { readonly text: ByteString; readonly repairs: number } | null {
  const out = new TextPieces();
  let from = 0;
  let repairs = 0;
  let inString = false;
  const replace = (at: number, length: number, by: string): void => {
    out.add(json.slice(from, at) + by);
    from = at + length;
    repairs += 1;
  };
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) inString = !inString;
    else if (inString) {
      if (code === 0x5c) at += 1;
      else if (code < 0x20) replace(at, 1, `\\u00${HEX[code >> 4]}${HEX[code & 15]}`);
    } else if (code === 0x4e || code === 0x49 || code === 0x2d) {
      NO_NUMBER.lastIndex = at;
      const [word] = NO_NUMBER.exec(json) ?? [];
      if (word === undefined) continue;
      replace(at, word.length, 'null');
      at += word.length - 1;
    }
  }
  if (repairs === 0) return null;
  out.add(json.slice(from));
  const text = out.text() as ByteString;
  return isJson(text) ? { text, repairs } : null;
}

function isJson(text: ByteString): boolean {
  const scanner = new JsonScanner(text);
  try {
    scanner.peek();
    scanner.skip();
    scanner.end();
    return true;
  } catch {
    return false;
  }
}
