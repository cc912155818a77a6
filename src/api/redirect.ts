import { parseUrl } from '../core/parse-url.js';
import type { HttpRequest } from './exchange.js';

/** The longest chain of redirects that is followed. */
export const MAX_REDIRECTS = 5;

const FOLLOWED: readonly number[] = [301, 302, 303, 307, 308];

/**
 * The path and query that a redirect leads to (RFC 9110 15.4); null if it is not followed. Only a GET to the same origin
 * is: another origin must never receive the API key, and a repeated write could create a second record.
 *
 * Servers that add a slash to a path often drop the query, and the request would then read another page. So each parameter
 * of the request that the new location does not name is kept.
 */
export function redirectPath(
  status: number,
  location: string | null,
  request: Pick<HttpRequest, 'method' | 'origin' | 'path'>,
): string | null {
  const { method, origin, path } = request;
  if (method !== 'GET' || location === null || !FOLLOWED.includes(status)) return null;
  const base = origin + path;
  const target = parseUrl(location, base);
  if (target === null || target.origin !== new URL(base).origin) return null;
  const given = parametersOf(target.search);
  const names = new Set(given.map(nameOf));
  const kept = parametersOf(path.slice(path.indexOf('?') + 1 || path.length)).filter(
    (one) => !names.has(nameOf(one)),
  );
  const query = [...given, ...kept].join('&');
  return query === '' ? target.pathname : `${target.pathname}?${query}`;
}

/** The parameters of a query as they are written. */
function parametersOf(query: string): string[] {
  return query
    .replace(/^\?/, '')
    .split('&')
    .filter((one) => one !== '');
}

function nameOf(parameter: string): string {
  return parameter.split('=')[0]!;
}

/** A word of a path that any service may use in a message, such as `login`. A key of a record has a digit or another character. */
const PLAIN = /^[A-Za-z]{1,12}$/;

/** The segments and query values that a redirect has added to a path. Each may be a record's key. */
export function addedParts(from: string, to: string): string[] {
  const before = new Set(partsOf(from));
  return partsOf(to).filter((part) => !before.has(part) && !PLAIN.test(part));
}

function partsOf(path: string): string[] {
  const { pathname, searchParams } = new URL(`http://localhost${path}`);
  const encoded = pathname.split('/').filter((part) => part !== '');
  return [...encoded, ...encoded.map(decoded), ...searchParams.values()];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
