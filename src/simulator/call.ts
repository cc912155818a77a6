import type { IncomingHttpHeaders } from 'node:http';
import type { CursorCodec, CursorState } from './cursors.js';

/** Base path of every endpoint (spec, "Versioning"). */
export const BASE_PATH = '/api/public/v2';

/** A request to the API, as far as its first line and headers tell. */
export interface Call {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** First segment below the base path, or '' outside of it. */
  readonly resource: string;
  /** Further segments, percent-decoded; null when they cannot be decoded. */
  readonly segments: readonly string[] | null;
  /** Decoded cursor, null without one, `invalid` when it is none of ours. */
  readonly cursor: CursorState | null | 'invalid';
}

/** Takes a request apart. Never throws. */
export function readCall(
  method: string,
  target: string,
  headers: IncomingHttpHeaders,
  codec: CursorCodec,
): Call {
  const [path = '', search = ''] = split(target);
  const query = new URLSearchParams(search);
  const below = path.startsWith(`${BASE_PATH}/`) ? path.slice(BASE_PATH.length + 1).split('/') : [];
  const resource = below[0] ?? '';
  return {
    method,
    target,
    path,
    query,
    headers,
    resource,
    segments: decodeAll(below.slice(1)),
    cursor: readCursor(query.get('cursor'), resource, codec),
  };
}

function split(target: string): [string, string] {
  const mark = target.indexOf('?');
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)];
}

function decodeAll(segments: readonly string[]): string[] | null {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return null;
  }
}

function readCursor(text: string | null, resource: string, codec: CursorCodec): Call['cursor'] {
  if (text === null || text === '') return null;
  try {
    return codec.decode(text, resource);
  } catch {
    return 'invalid';
  }
}
