import type { Cursor, UtcSeconds } from '../core/brands.js';
import { WorktrackError } from '../core/errors.js';
import { isUtcSeconds } from '../core/utc-time.js';
import { withoutEnd } from '../core/without-end.js';

/** The base path of the API, including the version. */
const API_PATH = '/api/public/v2';

/** The request cannot be written as a URL or header, so it was not sent. */
export class UnsendableError extends WorktrackError {
  readonly code = 'SERVICE_REJECTED';
}

/** The root of the API under `{base_url}`, in the normal form of a URL and without a trailing slash. */
export function apiRoot(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${withoutEnd(pathname, '/')}${API_PATH}`;
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

/** Parameters whose values are no data of the service. */
const SHOWN: readonly string[] = ['limit', 'updatedSince'];

/**
 * A query for messages, which may be stored in a history. A cursor is often made of a record's key, and other values may be one, so only
 * the page size and the time are shown (docs/explanation/guarantees.md#secrets).
 *
 * @param query with `?`, or empty
 */
export function displayQuery(query: string): string {
  return query.replace(/([?&])([^?=&]*)=[^&]*/g, (parameter, mark: string, name: string) =>
    SHOWN.includes(name) ? parameter : `${mark}${name}=…`,
  );
}

/** Most texts of one cursor. */
const MAX_HIDDEN = 40;

/**
 * The texts that a service may repeat of a cursor and that may be the key of a record: itself, what it is in Base64 or
 * percent-encoding, and all words with a digit in these. The caller hides them from what it quotes.
 */
export function cursorTexts(cursor: string): string[] {
  const forms = [cursor, decodedPercent(cursor), Buffer.from(cursor, 'base64').toString('utf8')];
  const readable = forms.filter((form) => form !== '' && !/[\p{Cc}\ufffd]/u.test(form));
  const words = readable.flatMap((form) => form.match(/[\p{L}\p{N}_-]{3,}/gu) ?? []);
  const texts = [...readable, ...words.filter((word) => /\d/.test(word))].flatMap(pieces);
  return [...new Set(texts)].slice(0, MAX_HIDDEN);
}

/** A long text in pieces, because a search for it becomes one expression. */
function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,200}/gu) ?? [];
}

function decodedPercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new UnsendableError('A lone surrogate cannot be encoded in a URL.', { cause });
  }
}
