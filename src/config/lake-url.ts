import { isLoopback } from '../core/notify-url.js';
import { hasControls } from './scalars.js';
import { wrongUrl } from './urls.js';

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
  if (host.includes('@') || /^[^/]+:[^/]+@/.test(rest)) {
    throw new RangeError(
      `found credentials in the URL (not repeated here); provide S3 credentials as for the AWS SDK. Allowed: ${ALLOWED}`,
    );
  }
  if (/[?#\\]/.test(text) || hasControls(text)) {
    throw new RangeError(
      `found ?, #, a backslash or a control character in the URL (not repeated here); allowed: ${ALLOWED}`,
    );
  }
  const path = rest.replace(/\/+$/, '');
  if (
    path
      .split('/')
      .slice(1)
      .some((part) => part === '' || part === '.' || part === '..')
  ) {
    throw new RangeError(`${wrongUrl(text, ALLOWED)}, without empty, . and .. parts`);
  }
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

/** Bucket names are unique across AWS, so all regional endpoints are one store. */
function store(endpoint: string | undefined): string {
  if (endpoint === undefined) return 'aws';
  const url = new URL(endpoint);
  if (/(^|\.)amazonaws\.com(\.cn)?$/.test(url.hostname)) return 'aws';
  return `${isLoopback(url.hostname) ? 'loopback' : url.hostname}:${url.port || url.protocol}${url.pathname}`;
}

/** Checks the S3 naming rules for general purpose buckets. */
function checkBucket(name: string): void {
  const shape = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name);
  if (shape && !name.includes('..') && !/^\d+(\.\d+){3}$/.test(name)) return;
  throw new RangeError(
    `found ${JSON.stringify(name)} as the bucket; allowed: 3 to 63 lower-case letters, digits, dots and hyphens, starting and ending with a letter or digit`,
  );
}

function relativeHint(text: string): string {
  return /^file:|^\.{0,2}\//.test(text) ? '. Write a folder as file:/// and its absolute path.' : '';
}
