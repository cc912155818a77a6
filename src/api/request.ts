import type { Agent, Dispatcher } from 'undici';
import type { HttpSettings } from '../core/settings.js';
import { type Body, BodyError, type BodyHeaders, readBody, readErrorText } from './body.js';
import { parseHttpDate } from './http-date.js';
import { ResponseDeadline } from './response-timeout.js';
import { parseRetryAfter } from './retry-after.js';
import { watchSends } from './send-watch.js';

/** One complete HTTP request. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: AbortSignal | undefined;
  /** Called just before the first byte is sent. Without this call, no part of the request has left the process. */
  readonly onSend: (() => void) | undefined;
}

interface Head {
  readonly status: number;
  /** The service's clock, in ms since the epoch. */
  readonly serviceDate: number | null;
  readonly retryAfterMs: number | null;
  readonly contentType: string | null;
  readonly location: string | null;
}

/** 2xx with its whole body; any other status with the beginning of its body as text. */
export type HttpResponse =
  | (Head & { readonly kind: 'success'; readonly body: Body })
  | (Head & { readonly kind: 'failure'; readonly text: string });

/** Enough for any error message; the rest of an error page is not read. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Makes one request, without retries and redirects. Throws undici's errors for the connection, BodyError for an
 * unreadable body or when the whole response takes too long, and the signal's reason when aborted.
 */
export async function exchange(
  agent: Agent,
  request: HttpRequest,
  http: HttpSettings,
  now: () => number,
): Promise<HttpResponse> {
  const { origin, pathname, search } = new URL(request.url);
  const deadline = new ResponseDeadline(http.responseTimeoutMs, request.signal);
  const dispatcher = request.onSend === undefined ? agent : watchSends(agent, request.onSend);
  try {
    const response = await dispatcher.request({
      origin,
      path: pathname + search,
      method: request.method,
      headers: request.headers,
      body: request.body,
      headersTimeout: http.headersTimeoutMs,
      bodyTimeout: http.bodyTimeoutMs,
      signal: deadline.signal,
    });
    const head = readHead(response, now());
    const coding = bodyHeaders(response);
    if (head.status >= 200 && head.status < 300) {
      const body = await readBody(response.body, coding, http.maxBodyBytes);
      if (body.bytes === 0 && !endIsMarked(response)) {
        throw new BodyError('truncated', 'The body is empty and its end is not marked.');
      }
      return { ...head, kind: 'success', body };
    }
    const text = await readErrorText(response.body, coding, MAX_ERROR_BYTES);
    request.signal?.throwIfAborted();
    return { ...head, kind: 'failure', text };
  } catch (error) {
    // The caller gets the reason of its signal, whatever error the abort caused.
    request.signal?.throwIfAborted();
    deadline.signal.throwIfAborted();
    throw error;
  } finally {
    deadline.end();
  }
}

/** Whether the end of a body is marked (RFC 9112 6.3). If not, a truncated body looks the same as a complete one. */
function endIsMarked(response: Dispatcher.ResponseData): boolean {
  const { statusCode } = response;
  if (statusCode === 204 || statusCode === 205) return true;
  return header(response, 'content-length') !== null || header(response, 'transfer-encoding') !== null;
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

/** Header lines with the same name form one list (RFC 9110 5.3). */
function header(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  if (value === undefined) return null;
  return Array.isArray(value) ? value.join(', ') : value;
}
