import { isLoopback } from '../notify-url.js';
import { parseUrl } from '../parse-url.js';
import { withoutEnd } from '../without-end.js';
import { hasControls } from './building-blocks.js';
import { describeFound, invalidValue } from './values.js';

const NAME = 'up to 100 characters a-z, 0-9, - and _, starting with a letter or digit';
const PATH =
  'a path under /api/public/v2 such as calendar-entries, without a leading slash, empty, . or .. segments, ? or #';

/** The pattern of connection and resource names, which become parts of folder names, workflow ids and file names. */
export const NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,99}$';

/** Checks a connection or resource name. @throws RangeError with a message for the user. */
export function readName(text: string): string {
  if (new RegExp(NAME_PATTERN).test(text)) return text;
  throw new RangeError(invalidValue(text, NAME));
}

/** Checks a resource path. @throws RangeError with a message for the user. */
export function readPath(text: string): string {
  // Some services need a slash at the end.
  const parts = text.replace(/(?<=[^/])\/$/, '').split('/');
  // HTTP clients resolve encoded dots like plain ones.
  const hasDotSegment = parts.some((part) => /^(\.|%2e){0,2}$/i.test(part));
  if (hasDotSegment || /[?#\\\s]/.test(text) || hasControls(text))
    throw new RangeError(invalidValue(text, PATH) + pathHint(text));
  return text;
}

/** Checks a JSON pointer (RFC 6901). @throws RangeError with a message for the user. */
export function readJsonPointer(text: string): string {
  if (/^(\/([^~/]|~[01])*)*$/.test(text)) return text;
  throw new RangeError(invalidValue(text, 'a JSON pointer such as /resource or /data/type (RFC 6901)'));
}

/** Checks the name of a field, or a JSON pointer if it begins with a slash. @throws RangeError with a message for the user. */
export function readIdField(text: string): string {
  if (text.startsWith('/')) return readJsonPointer(text);
  if (text !== '') return text;
  throw new RangeError(
    invalidValue(text, 'the name of a field, or a JSON pointer such as /data/id (RFC 6901)'),
  );
}

function pathHint(text: string): string {
  const tail = text.replace(/^\/*(api\/public\/v2\/)?/, '');
  const bare = tail.endsWith('//') ? `${withoutEnd(tail, '/')}/` : tail;
  return bare !== text && /^[\w-]+(\/[\w-]+)*\/?$/.test(bare)
    ? `. Did you mean ${JSON.stringify(bare)}?`
    : '';
}

const BASE_URL = 'an http or https URL such as https://tracker.example.com, without a query or fragment';
const ENDPOINT = 'an http or https URL such as http://127.0.0.1:9000, without a query or fragment';

/**
 * Parses `{base_url}` of the API: the service's host and the path before `/api/public/v2`, without a trailing slash.
 *
 * @throws RangeError with a message for the user that does not repeat credentials.
 */
export function readBaseUrl(text: string): string {
  const url = readHttpUrl(text, BASE_URL, 'set the key in apiKey');
  const path = withoutEnd(url.pathname, '/').replace(/\/api\/public\/v2$/, '');
  return url.origin + withoutEnd(path, '/');
}

/** Parses the URL of an S3-compatible store, without a trailing slash. Throws like `readBaseUrl`. */
export function readEndpoint(text: string): string {
  const url = readHttpUrl(text, ENDPOINT, 'provide S3 credentials as for the AWS SDK');
  return url.origin + withoutEnd(url.pathname, '/');
}

/** Like `isLoopback`, for a listen address: IPv6 without brackets. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopback(host.includes(':') ? `[${host}]` : host);
}

function readHttpUrl(text: string, allowed: string, credentialsHint: string): URL {
  const url = parseUrl(text);
  if (url?.username || url?.password)
    throw new RangeError(
      `found credentials in the URL (not repeated here); ${credentialsHint}. Allowed: ${allowed}`,
    );
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new RangeError(wrongUrl(text, allowed) + schemeHint(text));
  // A `?` or `#` at the end leaves `search` and `hash` empty but breaks every URL built from this one.
  if (/[?#]/.test(text)) {
    throw new RangeError(`found a query or a fragment in the URL (not repeated here); allowed: ${allowed}`);
  }
  if (/\s/.test(text) || hasControls(text)) throw new RangeError(wrongUrl(text, allowed));
  return url;
}

/** The message for an invalid URL; does not repeat a text that may contain credentials (`user:password@`, `?key=`). */
function wrongUrl(text: string, allowed: string): string {
  return /[@?#]/.test(text)
    ? `found an invalid URL (not repeated here); allowed: ${allowed}`
    : invalidValue(text, allowed);
}

function schemeHint(text: string): string {
  return /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[\w./-]*)?$/i.test(text)
    ? `. Did you mean ${describeFound(`https://${text}`).slice(9)}?`
    : '';
}

const ALLOWED = 's3://bucket, s3://bucket/prefix or file:///absolute/folder';

/**
 * Parses a lake URL and removes trailing slashes. Uses a pattern instead of `URL`, which would change the case, decode
 * or resolve parts of an S3 key.
 *
 * @throws RangeError with a message for the user that does not repeat credentials.
 */
export function readLakeUrl(text: string): string {
  const match = /^(s3|file):\/\/([^/]*)(\/.*)?$/s.exec(text);
  if (!match) throw new RangeError(wrongUrl(text, ALLOWED) + relativeHint(text));
  const [, scheme, host = '', rest = ''] = match;
  if (host.includes('@')) {
    throw new RangeError(
      `found credentials in the URL (not repeated here); provide S3 credentials as for the AWS SDK. Allowed: ${ALLOWED}`,
    );
  }
  if (/[?#\\]/.test(text) || hasControls(text)) {
    throw new RangeError(
      `found ?, #, a backslash or a control character in the URL (not repeated here); allowed: ${ALLOWED}`,
    );
  }
  const path = withoutEnd(rest, '/');
  if (/\/\.{0,2}(\/|$)/.test(path))
    throw new RangeError(`${wrongUrl(text, ALLOWED)}, without empty, . and .. parts`);
  if (scheme === 's3') {
    checkBucket(host);
    return `s3://${host}${path}`;
  }
  if (host !== '') throw new RangeError(wrongUrl(text, ALLOWED) + relativeHint(text));
  // Engines read these characters as a wildcard or an escape, in every form of quoting.
  if (/%3f|%5c/i.test(path))
    throw new RangeError(`${wrongUrl(text, ALLOWED)}, of a folder without ? and \\ in its path`);
  if (path === '')
    throw new RangeError(`${wrongUrl(text, ALLOWED)}; the root of the file system cannot be a lake`);
  return `file://${path}`;
}

/** The settings that decide whether two lakes are the same place. */
export interface LakePlace {
  readonly url: string;
  readonly endpoint?: string | undefined;
}

/** Whether one lake equals or contains the other (docs/explanation/guarantees.md#one-writer). */
export function lakesOverlap(a: LakePlace, b: LakePlace): boolean {
  if (a.url.startsWith('s3:') && store(a.endpoint) !== store(b.endpoint)) return false;
  const [left, right] = [`${a.url}/`, `${b.url}/`];
  return left.startsWith(right) || right.startsWith(left);
}

/** Bucket names are unique across a partition of AWS, so all regional endpoints are one store. */
function store(endpoint: string | undefined): string {
  if (endpoint === undefined) return 'aws';
  const url = new URL(endpoint);
  if (/(^|\.)amazonaws\.com$/.test(url.hostname)) return 'aws';
  if (/(^|\.)amazonaws\.com\.cn$/.test(url.hostname)) return 'aws-cn';
  return `${isLoopback(url.hostname) ? 'loopback' : url.hostname}:${url.port || url.protocol}${url.pathname}`;
}

/** Checks the S3 naming rules for general purpose buckets. */
function checkBucket(name: string): void {
  if (name.endsWith('--x-s3'))
    throw new RangeError(
      `found ${JSON.stringify(name)}, a directory bucket (S3 Express One Zone); allowed: a general purpose bucket, because a directory bucket refuses lists that a run needs`,
    );
  const shape = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name);
  if (shape && !name.includes('..') && !/^\d+(\.\d+){3}$/.test(name)) return;
  throw new RangeError(
    `found ${JSON.stringify(name)} as the bucket; allowed: 3 to 63 lower-case letters, digits, dots and hyphens, starting and ending with a letter or digit`,
  );
}

function relativeHint(text: string): string {
  return /^file:|^\.{0,2}\//.test(text) ? '. Write a folder as file:/// and its absolute path.' : '';
}

/** Reads a share of rows, such as `1%`. @returns more than 0, and at most 1 @throws RangeError with a complete message */
export function readShare(text: string): number {
  const share = /^\d{1,3}(?:\.\d{1,6})?%$/.test(text) ? Number(text.slice(0, -1)) / 100 : 0;
  if (share > 0 && share <= 1) return share;
  throw new RangeError(invalidValue(text, 'more than 0%, and at most 100%, such as 1%'));
}
