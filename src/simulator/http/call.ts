import type { IncomingHttpHeaders } from 'node:http';
import type { CursorCodec, CursorState } from './cursors.js';

/** Base path of every endpoint (spec, "Versioning"). */
export const BASE_PATH = '/api/public/v2';

/** A request to the API: its request line and headers. */
export interface Call {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** First segment below the base path; '' for other paths. */
  readonly resource: string;
  /** Further segments, percent-decoded; null if they cannot be decoded. */
  readonly segments: readonly string[] | null;
  /** Decoded cursor; null without a cursor; `invalid` if this service did not issue it. */
  readonly cursor: CursorState | null | 'invalid';
}

/** Parses a request. Never throws. */
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
