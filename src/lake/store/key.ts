import type { ObjectKey } from '../../core/brands.js';
import { StoreError } from './errors.js';
import type { ByteRange } from './port.js';

/** S3 allows 1024 bytes for a key. Stores on file systems allow 255 bytes for a segment. */
export const MAX_KEY_BYTES = 1024;
const MAX_SEGMENT_BYTES = 255;

/** Control characters, backslashes and lone surrogates (which UTF-8 cannot encode). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\\]/u;

/**
 * Checks a key relative to the lake's root. Throws a StoreError of kind `invalid-key` for an empty, `.` or `..` segment
 * (and so for a leading, trailing or double slash), a control character, a backslash, a lone surrogate, a segment of more
 * than 255 bytes, or more than 1024 bytes in total.
 *
 * @example
 * const body = await store.read(toObjectKey('tasks/latest.json'));
 */
export function toObjectKey(text: string): ObjectKey {
  const problem = keyProblem(text);
  if (problem !== null) throw invalidKey(text, problem);
  return text as ObjectKey;
}

/** Why a text is not a valid key; null if it is valid. */
export function keyProblem(text: string): string | null {
  if (text === '') return 'it is empty';
  return pathProblem(text, text.split('/'));
}

/** Checks the prefix of a listing: `''`, or a key whose last segment may be incomplete or empty. */
export function checkPrefix(prefix: string): string {
  if (prefix === '') return prefix;
  const segments = prefix.split('/');
  if (segments.length > 1 && segments[segments.length - 1] === '') segments.pop();
  const problem = pathProblem(prefix, segments);
  if (problem !== null) throw invalidKey(prefix, problem);
  return prefix;
}

/** Checks a folder prefix: `''`, or a prefix that ends in `/`. */
export function checkFolder(prefix: string): string {
  if (prefix !== '' && !prefix.endsWith('/')) throw invalidKey(prefix, 'a folder must end with a slash');
  return checkPrefix(prefix);
}

function pathProblem(text: string, segments: readonly string[]): string | null {
  if (FORBIDDEN.test(text)) return 'it has a control character, a backslash or a lone surrogate';
  if (Buffer.byteLength(text) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`;
  for (const segment of segments) {
    if (segment === '') return 'it has an empty segment (a leading, trailing or double slash)';
    if (segment === '.' || segment === '..') return `it has the segment ${JSON.stringify(segment)}`;
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
      return `it has a segment of more than ${MAX_SEGMENT_BYTES} bytes`;
    }
  }
  return null;
}

function invalidKey(text: string, problem: string): StoreError {
  return new StoreError({
    kind: 'invalid-key',
    operation: 'use',
    key: text.length > 200 ? `${text.slice(0, 200)}...` : text,
    bucket: 'the lake',
    problem: `the key is not allowed: ${problem}`,
    remedy: 'Check the names of connections and resources, which are parts of keys.',
  });
}

/** Checks a byte range. @throws RangeError unless the offset is an integer of at least 0 and the length one of at least 1 */
export function checkRange(range: ByteRange): void {
  if (!Number.isSafeInteger(range.offset) || range.offset < 0) {
    throw new RangeError(`A range's offset must be an integer of at least 0, found ${range.offset}`);
  }
  if (!Number.isSafeInteger(range.length) || range.length < 1) {
    throw new RangeError(`A range's length must be an integer of at least 1, found ${range.length}`);
  }
}

/** The media types of the lake's objects, by the end of their names. The first match counts. */
const TYPES = [
  ['.gz', 'application/gzip'],
  ['.csv', 'text/csv'],
  ['.json', 'application/json'],
  ['/_last_checkpoint', 'application/json'],
  ['.ndjson', 'application/x-ndjson'],
  ['.parquet', 'application/vnd.apache.parquet'],
] as const;

/** The `Content-Type` of an object. Files without a known name hold binary lists. `Content-Encoding` is never set. */
export function contentTypeOf(key: string): string {
  return TYPES.find(([end]) => key.endsWith(end))?.[1] ?? 'application/octet-stream';
}
