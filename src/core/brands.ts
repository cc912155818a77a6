/**
 * Branded strings and numbers, which the compiler keeps apart: it rejects a cursor where an object key is expected. Brands do
 * not exist at run time.
 */
declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** An opaque continuation token, exactly as the service returned it (docs/service-api.md#requests). */
export type Cursor = Brand<string, 'Cursor'>;

/** `20261121T020000Z-` and eight hexadecimal digits; sorts by start time (docs/reference/lake.md). */
export type RunId = Brand<string, 'RunId'>;

/** An object's key relative to the lake's root, with `/` between segments (docs/reference/lake.md). */
export type ObjectKey = Brand<string, 'ObjectKey'>;

/** ISO 8601 in UTC with whole seconds, `2026-11-21T02:00:00Z`: the only form `updatedSince` takes (docs/service-api.md#requests). */
export type UtcSeconds = Brand<string, 'UtcSeconds'>;

/**
 * UTF-8 text held one byte per character (each `charCodeAt` is one byte of the encoding). The data plane works on
 * such strings for three reasons: JavaScript engines store them with one byte per character in any language, the structural
 * characters of JSON and CSV are ASCII and so stay the same, and their order is the order of code points.
 */
export type ByteString = Brand<string, 'ByteString'>;

/** Converts UTF-8 bytes to a byte string. */
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

declare const unit: unique symbol;
/** A number with a unit, which plain numbers become by themselves. The compiler rejects a number with another unit. */
type Unit<Name extends string> = number & { readonly [unit]?: Name };

/** A time: milliseconds since 1970. */
export type EpochMs = Unit<'EpochMs'>;

/** A length of time: milliseconds. */
export type Millis = Unit<'Millis'>;

/** A record's values by column: `null` or a hole for a missing value, `''` for the empty string. */
export type Cells = (ByteString | null | undefined)[];
