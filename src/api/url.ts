import type { Cursor, UtcSeconds } from '../core/brands.js';
import { ConfigurationError } from '../core/configuration-error.js';

/** The base path of the spec; the version is part of it. */
export const API_PATH = '/api/public/v2';

/** The request cannot be written as a URL: nothing was sent. */
export class UnsendableError extends RangeError {
  static {
    UnsendableError.prototype.name = 'UnsendableError';
  }
  readonly code = 'UNSENDABLE';
}

/**
 * Checks `{base_url}` and returns it with the API's base path, without a slash at its end.
 * Throws ConfigurationError for what is no http(s) URL, for credentials, query or fragment in it, and for plain
 * `http://` to anything but loopback, where the key would travel in the clear.
 */
export function apiRoot(baseUrl: string, plainHttp: 'loopback-only' | 'allowed'): string {
  const url = parseBase(baseUrl);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new ConfigurationError('baseUrl must not hold credentials, a query or a fragment.', {
      path: 'baseUrl',
      remedy: 'Give scheme, host and, if need be, port and path; the key belongs under apiKey.',
    });
  }
  if (url.protocol === 'http:' && plainHttp === 'loopback-only' && !isLoopback(url.hostname)) {
    throw new ConfigurationError(
      `baseUrl is plain http:// to ${url.host}: the API key would be sent in the clear.`,
      {
        path: 'baseUrl',
        remedy: 'Use https://, or set http.allowPlainHttp where the network itself is trusted.',
      },
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith(API_PATH)) {
    throw new ConfigurationError(`baseUrl ends in ${API_PATH}, which is added to it.`, {
      path: 'baseUrl',
      remedy: `Leave ${API_PATH} out.`,
    });
  }
  return `${url.origin}${path}${API_PATH}`;
}

function parseBase(baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    // Not quoted: what is no URL may well be a key in the wrong place.
    throw new ConfigurationError('baseUrl is not an http:// or https:// URL.', {
      path: 'baseUrl',
      remedy: 'Give the address of the service, such as https://tracker.example.com.',
    });
  }
  return url;
}

function isLoopback(hostname: string): boolean {
  if (hostname === '[::1]' || hostname === 'localhost' || hostname.endsWith('.localhost')) return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
}

/**
 * Joins the root and path segments, each percent-encoded (RFC 3986 3.3). Throws UnsendableError for a segment that no URL
 * can carry: an empty one, a lone surrogate, and `.` and `..`, which would name another resource however encoded.
 */
export function resourceUrl(root: string, segments: readonly string[]): string {
  return [root, ...segments.map(encodeSegment)].join('/');
}

function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') {
    throw new UnsendableError(`"${segment}" cannot be a segment of a URL's path.`);
  }
  return encode(segment);
}

/**
 * The query of a list (spec, "Query parameters common to list endpoints"), with `?`. The cursor is opaque and goes back
 * exactly as it came. Throws RangeError for a limit that is no positive integer, an empty cursor (which would start the
 * list again) and an `updatedSince` in any other form than `YYYY-MM-DDTHH:MM:SSZ`.
 */
export function listQuery(query: {
  readonly limit: number;
  readonly cursor: Cursor | null;
  readonly updatedSince: UtcSeconds | null;
}): string {
  if (!Number.isSafeInteger(query.limit) || query.limit < 1) {
    throw new RangeError(`limit must be a positive integer, not ${query.limit}.`);
  }
  const parts = [`limit=${query.limit}`];
  if (query.cursor === '') throw new RangeError('An empty cursor ends a list; it must not be sent.');
  if (query.cursor !== null) parts.push(`cursor=${encode(query.cursor)}`);
  if (query.updatedSince !== null) {
    if (!isUtcSeconds(query.updatedSince)) {
      throw new RangeError(`updatedSince must look like 2026-11-21T02:00:00Z, not "${query.updatedSince}".`);
    }
    parts.push(`updatedSince=${encode(query.updatedSince)}`);
  }
  return `?${parts.join('&')}`;
}

/** Whether a text is a real instant in the only form that `updatedSince` takes. */
export function isUtcSeconds(text: string): text is UtcSeconds {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return false;
  const at = new Date(text);
  // A date that does not exist is rolled over or refused by the engine; either way it does not come back the same.
  return !Number.isNaN(at.getTime()) && at.toISOString() === `${text.slice(0, -1)}.000Z`;
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new UnsendableError('A lone surrogate cannot be written in a URL.', { cause });
  }
}
