/**
 * Names that must not be mixed up. A brand costs nothing at run time; it only stops a cursor from being passed
 * where an object key is wanted.
 */
declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** An opaque continuation token, exactly as the service wrote it (spec, "Query parameters"). */
export type Cursor = Brand<string, 'Cursor'>;

/** `20261121T020000Z-` and eight hexadecimal digits; sorts by start time (DESIGN 6). */
export type RunId = Brand<string, 'RunId'>;

/** An object's key relative to the lake's root, with `/` between segments (DESIGN 6). */
export type ObjectKey = Brand<string, 'ObjectKey'>;

/** ISO 8601 in UTC with whole seconds, `2026-11-21T02:00:00Z`: the only form `updatedSince` takes (spec). */
export type UtcSeconds = Brand<string, 'UtcSeconds'>;

/**
 * UTF-8 text held one byte per character (each `charCodeAt` is one byte of the encoding). The data plane works on
 * such strings: JavaScript engines keep them in one byte a character whatever the language of the text, every
 * structural character of JSON and CSV is ASCII and so is itself, and comparing two of them compares code points.
 */
export type ByteString = Brand<string, 'ByteString'>;

/** The byte string whose bytes are these. */
export function readByteString(utf8: Buffer): ByteString {
  return utf8.toString('latin1') as ByteString;
}

/** Encodes ordinary text as a byte string. */
export function toByteString(text: string): ByteString {
  return readByteString(Buffer.from(text, 'utf8'));
}

/** Decodes a byte string to ordinary text. */
export function fromByteString(bytes: ByteString): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
