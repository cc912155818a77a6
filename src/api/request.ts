import type { Agent, Dispatcher } from 'undici';
import type { HttpSettings } from '../core/settings.js';
import { type Body, type BodyHeaders, readBody, readErrorText } from './body.js';
import { parseHttpDate } from './http-date.js';
import { parseRetryAfter } from './retry-after.js';

/** One HTTP request, fully spelled out. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: AbortSignal | undefined;
}

interface Head {
  readonly status: number;
  /** The service's clock, in ms since the epoch. */
  readonly serviceDate: number | null;
  readonly retryAfterMs: number | null;
  readonly contentType: string | null;
  readonly location: string | null;
}

/** 2xx with its body whole; anything else with the beginning of its body as text. */
export type HttpResponse =
  | (Head & { readonly kind: 'success'; readonly body: Body })
  | (Head & { readonly kind: 'failure'; readonly text: string });

/** Enough for any message; the rest of an error page is not worth its transfer. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Makes one request, with no retry and no redirect followed. Throws what undici throws for the connection, BodyError for
 * a body that cannot be read, and the signal's reason when aborted.
 */
export async function exchange(
  agent: Agent,
  request: HttpRequest,
  http: HttpSettings,
  now: () => number,
): Promise<HttpResponse> {
  const { origin, pathname, search } = new URL(request.url);
  try {
    const response = await agent.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: request.headers,
      body: request.body,
      headersTimeout: http.headersTimeoutMs,
      bodyTimeout: http.bodyTimeoutMs,
      signal: request.signal ?? null,
    });
    const head = readHead(response, now());
    const coding = bodyHeaders(response);
    if (head.status >= 200 && head.status < 300) {
      return { ...head, kind: 'success', body: await readBody(response.body, coding, http.maxBodyBytes) };
    }
    const text = await readErrorText(response.body, coding, MAX_ERROR_BYTES);
    request.signal?.throwIfAborted();
    return { ...head, kind: 'failure', text };
  } catch (error) {
    // However the abort showed itself, the caller gets its own reason.
    request.signal?.throwIfAborted();
    throw error;
  }
}

function readHead(response: Dispatcher.ResponseData, nowMs: number): Head {
  const date = header(response, 'date');
  const serviceDate = date === null ? null : parseHttpDate(date, nowMs);
  return {
    status: response.statusCode,
    serviceDate,
    retryAfterMs: parseRetryAfter(header(response, 'retry-after'), { serviceDateMs: serviceDate, nowMs }),
    contentType: header(response, 'content-type'),
    location: header(response, 'location'),
  };
}

function bodyHeaders(response: Dispatcher.ResponseData): BodyHeaders {
  return {
    contentEncoding: header(response, 'content-encoding'),
    contentLength: header(response, 'content-length'),
  };
}

/** Lines of the same name are one list (RFC 9110 5.3). */
function header(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  if (value === undefined) return null;
  return Array.isArray(value) ? value.join(', ') : value;
}
