import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { type ByteString, readByteString, toByteString } from '../core/brands.js';

/** The text of a body, and the number of its invalid byte sequences that became U+FFFD. */
export interface DecodedText {
  readonly text: ByteString;
  readonly replaced: number;
}

/**
 * Decodes the bytes of a body. JSON must be UTF-8 (RFC 8259 section 8.1), so valid UTF-8 is read as such, whatever the
 * Content-Type declares. Otherwise UTF-16 is recognized by its byte order mark or its zero bytes, and after that the
 * declared charset counts. A byte order mark is removed.
 */
export function decodeText(bytes: Buffer, contentType: string | null): DecodedText {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const encoding = utf16Of(bytes);
  if (encoding === null && isUtf8(bytes)) return { text: readByteString(bytes.subarray(start)), replaced: 0 };
  const decoder = decoderOf(encoding ?? declaredCharset(contentType));
  if (decoder === null) return decodeLossy(bytes.subarray(start));
  const text = toByteString(decoder.decode(bytes));
  // UTF-16 can have U+FFFD as such, which is too rare to be told apart.
  return { text, replaced: countReplacements(text) };
}

/** JSON begins with an ASCII character, which has a zero byte in UTF-16 (RFC 4627 section 3). */
function utf16Of(bytes: Buffer): string | null {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return 'utf-16be';
  return null;
}

/** The parameter `charset` (RFC 9110 8.3.2); null if there is none, or if it is UTF-8, which the bytes are not. */
function declaredCharset(contentType: string | null): string | null {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(contentType ?? '') ?? [];
  const charset = (quoted ?? plain ?? '').trim();
  return charset === '' || /^utf-?8$/i.test(charset) ? null : charset;
}

/** A decoder for a label of the Encoding Standard, where `iso-8859-1` means Windows-1252; null for an unknown label. */
function decoderOf(label: string | null): TextDecoder | null {
  if (label === null) return null;
  try {
    return new TextDecoder(label);
  } catch {
    return null;
  }
}

/**
 * One invalid value must not block all other rows, so invalid sequences become U+FFFD, like lone surrogates
 * (docs/explanation/guarantees.md#values), and are counted for a warning.
 */
function decodeLossy(bytes: Buffer): DecodedText {
  const text = toByteString(bytes.toString('utf8'));
  return { text, replaced: countReplacements(text) - countReplacements(readByteString(bytes)) };
}

/** Counts U+FFFD in a text. */
function countReplacements(text: ByteString): number {
  return text.split('\xef\xbf\xbd').length - 1;
}
