import { describeFound, wrong } from './found.js';
import { hasControls } from './scalars.js';

const BASE_URL = 'an http or https URL such as https://tracker.example.com, without a query or fragment';
const ENDPOINT = 'an http or https URL such as http://127.0.0.1:9000, without a query or fragment';

/**
 * `{base_url}` of the spec: the service's host and whatever path stands before `/api/public/v2`, without a slash at
 * its end.
 *
 * @throws RangeError with the message for the file's author; it repeats no credentials.
 */
export function readBaseUrl(text: string): string {
  const url = readHttpUrl(text, BASE_URL, 'the key goes into apiKey');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api\/public\/v2$/, '');
  return url.origin + path.replace(/\/+$/, '');
}

/** The address of an S3-compatible store, without a slash at its end. Throws like `readBaseUrl`. */
export function readEndpoint(text: string): string {
  const url = readHttpUrl(text, ENDPOINT, 'S3 credentials go where the AWS SDK looks for them');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Whether an URL's host is this machine: localhost, 127.0.0.0/8 or [::1]. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** As `isLoopback`, for an address to listen on: IPv6 without its brackets. */
export function isLoopbackAddress(host: string): boolean {
  return isLoopback(host.includes(':') ? `[${host}]` : host);
}

function readHttpUrl(text: string, allowed: string, secretsGo: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new RangeError(wrongUrl(text, allowed) + schemeHint(text));
  }
  if (url.username !== '' || url.password !== '') {
    throw new RangeError(
      `found credentials in the URL (not repeated here); ${secretsGo}. Allowed: ${allowed}`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RangeError(wrongUrl(text, allowed) + schemeHint(text));
  }
  // A bare `?` or `#` leaves `search` and `hash` empty and would still break every address made from it.
  if (/[?#]/.test(text)) {
    throw new RangeError(`found a query or a fragment in the URL (not repeated here); allowed: ${allowed}`);
  }
  if (/\s/.test(text) || hasControls(text)) throw new RangeError(wrongUrl(text, allowed));
  return url;
}

/** A text that may hold credentials (`user:password@`, `?key=`) is not shown. */
export function wrongUrl(text: string, allowed: string): string {
  return /[@?#]/.test(text)
    ? `found a text that is no such URL (not repeated here); allowed: ${allowed}`
    : wrong(text, allowed);
}

function schemeHint(text: string): string {
  return /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[\w./-]*)?$/i.test(text)
    ? `. Did you mean ${describeFound(`https://${text}`).slice(9)}?`
    : '';
}
