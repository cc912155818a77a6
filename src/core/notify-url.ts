import { parseUrl } from './parse-url.js';

/** Why a URL is not allowed for notifications; `null` if it is. The text does not repeat the URL, which may be a secret. */
export function notifyUrlProblem(text: string): string | null {
  const url = parseUrl(text);
  if (url === null) return 'is not a URL';
  if (url.username !== '' || url.password !== '') return 'contains credentials; use `headers` for them';
  if (url.protocol === 'https:') return null;
  if (url.protocol !== 'http:') return 'is not an http or https URL';
  return isLoopback(url.hostname) ? null : 'is plain http to another machine; use https';
}

/** Whether the host of a URL is this machine: localhost, 127.0.0.0/8 or [::1]. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
