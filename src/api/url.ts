import type { Cursor, UtcSeconds } from '../core/brands.js';
import { WorktrackError } from '../core/errors.js';
import { isUtcSeconds } from '../core/utc-time.js';

/** The base path of the API, including the version. */
const API_PATH = '/api/public/v2';

/** The request cannot be written as a URL or header, so it was not sent. */
export class UnsendableError extends WorktrackError {
  readonly code = 'SERVICE_REJECTED';
}

/** The root of the API under `{base_url}`, in the normal form of a URL and without a trailing slash. */
export function apiRoot(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname.replace(/\/+$/, '')}${API_PATH}`;
}

/**
 * An unencoded part of a path. Of one with a record id, `value` is used only in the request; messages show the placeholder
 * `shown`, such as `<id>`.
 */
export type Segment = string | { readonly value: string; readonly shown: string };

/**
 * Joins the root and the percent-encoded path segments (RFC 3986 3.3). Throws UnsendableError for a segment that a URL
 * cannot represent: an empty one, a lone surrogate, and `.` and `..`, which name another resource even when encoded.
 */
export function resourceUrl(root: string, segments: readonly Segment[]): string {
  return [root, ...segments.map((one) => encodeSegment(typeof one === 'string' ? one : one.value))].join('/');
}

/** The URL for messages, which may be stored in a history: without record ids (docs/explanation/guarantees.md#secrets). */
export function displayUrl(root: string, segments: readonly Segment[]): string {
  const parts = segments.map((one) => (typeof one === 'string' ? one && encodeSegment(one) : one.shown));
  return [root, ...parts].join('/');
}

/**
 * The segments of a record's path: those of its list and its id. A slash at the end of the list's path is one at the end of
 * the record's path too.
 */
export function recordSegments(path: string, records: readonly Segment[]): Segment[] {
  const segments = path.split('/');
  const slash = segments.at(-1) === '' ? segments.splice(-1) : [];
  return [...segments, ...records, ...slash];
}

function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') {
    // Not quoted: it may be a record id.
    throw new UnsendableError('An empty string, "." and ".." cannot be a segment of a URL path.');
  }
  return encode(segment);
}

/**
 * The query of a list (docs/service-api.md#requests), with `?`. The cursor is opaque and sent back
 * unchanged. Throws RangeError for a limit that is not a positive integer, an empty cursor (which would restart the
 * list) and an `updatedSince` in a form other than `YYYY-MM-DDTHH:MM:SSZ`.
 */
export function listQuery(query: {
  readonly limit: number;
  readonly cursor: Cursor | null;
  readonly updatedSince: UtcSeconds | null;
  readonly params?: Readonly<Record<string, string>> | undefined;
}): string {
  if (!Number.isSafeInteger(query.limit) || query.limit < 1) {
    throw new RangeError(`limit must be a positive integer, not ${query.limit}.`);
  }
  const parts = [...paramsText(query.params ?? {}), `limit=${query.limit}`];
  if (query.cursor === '')
    throw new RangeError('An empty cursor must not be sent: it marks the end of a list.');
  // URL parsers also encode an apostrophe in a query.
  if (query.cursor !== null) parts.push(`cursor=${encode(query.cursor).replaceAll("'", '%27')}`);
  if (query.updatedSince !== null) {
    if (!isUtcSeconds(query.updatedSince)) {
      throw new RangeError(`updatedSince must look like 2026-11-21T02:00:00Z, not "${query.updatedSince}".`);
    }
    parts.push(`updatedSince=${encode(query.updatedSince)}`);
  }
  return `?${parts.join('&')}`;
}

/** Configured parameters of a list, as in its query. */
function paramsText(params: Readonly<Record<string, string>>): string[] {
  return Object.entries(params).map(([name, value]) => `${encode(name)}=${encode(value)}`);
}

/** The path of a list with its configured parameters, in the order of their names: it identifies the list. */
export function listName({
  path,
  params,
}: {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
}): string {
  const text = paramsText(params).sort().join('&');
  return text === '' ? path : `${path}?${text}`;
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new UnsendableError('A lone surrogate cannot be encoded in a URL.', { cause });
  }
}
