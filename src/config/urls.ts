import { isLoopback } from '../core/notify-url.js';
import { hasControls } from './scalars.js';
import { describeFound, invalidValue } from './values.js';

const BASE_URL = 'an http or https URL such as https://tracker.example.com, without a query or fragment';
const ENDPOINT = 'an http or https URL such as http://127.0.0.1:9000, without a query or fragment';

/**
 * Parses `{base_url}` of the API: the service's host and the path before `/api/public/v2`, without a trailing slash.
 *
 * @throws RangeError with a message for the user that does not repeat credentials.
 */
export function readBaseUrl(text: string): string {
  const url = readHttpUrl(text, BASE_URL, 'set the key in apiKey');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api\/public\/v2$/, '');
  return url.origin + path.replace(/\/+$/, '');
}

/** Parses the URL of an S3-compatible store, without a trailing slash. Throws like `readBaseUrl`. */
export function readEndpoint(text: string): string {
  const url = readHttpUrl(text, ENDPOINT, 'provide S3 credentials as for the AWS SDK');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Like `isLoopback`, for a listen address: IPv6 without brackets. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopback(host.includes(':') ? `[${host}]` : host);
}

function readHttpUrl(text: string, allowed: string, credentialsHint: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new RangeError(wrongUrl(text, allowed) + schemeHint(text));
  }
  if (url.username !== '' || url.password !== '') {
    throw new RangeError(
      `found credentials in the URL (not repeated here); ${credentialsHint}. Allowed: ${allowed}`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RangeError(wrongUrl(text, allowed) + schemeHint(text));
  }
  // A `?` or `#` at the end leaves `search` and `hash` empty but breaks every URL built from this one.
  if (/[?#]/.test(text)) {
    throw new RangeError(`found a query or a fragment in the URL (not repeated here); allowed: ${allowed}`);
  }
  if (/\s/.test(text) || hasControls(text)) throw new RangeError(wrongUrl(text, allowed));
  return url;
}

/** The message for an invalid URL; does not repeat a text that may contain credentials (`user:password@`, `?key=`). */
export function wrongUrl(text: string, allowed: string): string {
  return /[@?#]/.test(text)
    ? `found an invalid URL (not repeated here); allowed: ${allowed}`
    : invalidValue(text, allowed);
}

function schemeHint(text: string): string {
  return /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[\w./-]*)?$/i.test(text)
    ? `. Did you mean ${describeFound(`https://${text}`).slice(9)}?`
    : '';
}
