import type { ByteString } from '../core/brands.js';
import { JsonError } from './json-error.js';
import { TextPieces } from './text-pieces.js';

const SHORT: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * Decodes the escapes of a JSON string (RFC 8259 section 7), which `checkEscape` has accepted. `replaced`: number of lone
 * surrogates, which UTF-8 cannot encode, replaced by U+FFFD (docs/explanation/guarantees.md#values).
 *
 * @param raw the text between the quotation marks
 */
export function decodeString(raw: ByteString): { readonly value: ByteString; readonly replaced: number } {
  const out = new TextPieces();
  let from = 0;
  let replaced = 0;
  let at = raw.indexOf('\\');
  while (at !== -1) {
    out.add(raw.slice(from, at));
    const kind = raw.charAt(at + 1);
    if (kind === 'u') {
      const unit = hex4(raw, at + 2);
      let size = 6;
      if (unit < 0xd800 || unit > 0xdfff) {
        out.add(utf8(unit));
      } else {
        const low = unit < 0xdc00 && raw.startsWith('\\u', at + 6) ? hex4(raw, at + 8) : 0;
        if (low >= 0xdc00 && low <= 0xdfff) {
          out.add(utf8(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)));
          size = 12;
        } else {
          out.add(utf8(0xfffd));
          replaced++;
        }
      }
      from = at + size;
    } else {
      out.add(SHORT[kind]!);
      from = at + 2;
    }
    at = raw.indexOf('\\', from);
  }
  out.add(raw.slice(from));
  return { value: out.text() as ByteString, replaced };
}

/** Checks the escape that begins with the backslash at `at`. @throws JsonError if it is not a JSON escape */
export function checkEscape(text: ByteString, at: number): void {
  const kind = text.charAt(at + 1);
  if (kind === 'u' && !/^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6)))
    throw new JsonError('\\u without four hexadecimal digits', at + 2);
  if (kind !== 'u' && SHORT[kind] === undefined) throw new JsonError('unknown escape in a string', at);
}

function hex4(raw: string, at: number): number {
  return Number.parseInt(raw.slice(at, at + 4), 16);
}

/** Encodes a code point as UTF-8, one byte per character (RFC 3629 section 3). */
function utf8(point: number): string {
  if (point < 0x80) return String.fromCharCode(point);
  if (point < 0x800) return String.fromCharCode(0xc0 | (point >> 6), 0x80 | (point & 0x3f));
  if (point < 0x10000) {
    return String.fromCharCode(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
  }
  return String.fromCharCode(
    0xf0 | (point >> 18),
    0x80 | ((point >> 12) & 0x3f),
    0x80 | ((point >> 6) & 0x3f),
    0x80 | (point & 0x3f),
  );
}

/** Text is counted in pieces, as bytes: in a string, each character would cost five times as much. */
const piece = Buffer.allocUnsafeSlow(32 * 1024);

/** Number of control characters (U+0000 to U+001F) in a text. Most texts have none, which the expression finds soonest. */
export function countControls(text: ByteString): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  if (!/[\u0000-\u001f]/.test(text)) return 0;
  let count = 0;
  for (let from = 0; from < text.length; from += piece.length) {
    const size = piece.write(text.slice(from, from + piece.length), 'latin1');
    // The sign of the difference, because a condition costs more in a text with many line breaks.
    for (let at = 0; at < size; at++) count += (piece[at]! - 0x20) >>> 31;
  }
  return count;
}

/** Offset of the first control character inside a string of JSON text; -1 for none. */
export function controlInString(json: ByteString): number {
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) inString = !inString;
    else if (inString && code === 0x5c) at++;
    else if (inString && code < 0x20) return at;
  }
  return -1;
}
