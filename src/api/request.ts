import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { HttpSettings } from '../core/settings.js';
import { type Body, BodyError, type BodyHeaders, readBody, readErrorText } from './body.js';
import { isSuccess } from './classify.js';
import { isLimitUsedUp } from './evidence.js';
import { parseHttpDate } from './http-date.js';
import { type RawResponse, readResponse } from './response-reader.js';
import { parseRetryAfter, resetDelayMs } from './retry-after.js';

/** One complete HTTP request. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: AbortSignal | undefined;
  /** Called just before the first byte is sent. Without this call, no part of the request has left the process. */
  readonly onSend: (() => void) | undefined;
}

interface ResponseHead {
  readonly status: number;
  /** The service's clock, in ms since the epoch. */
  readonly serviceDate: number | null;
  /** The wait that the service requires: `Retry-After`, or the reset of a limit that is used up. Null for a 2xx. */
  readonly retryAfterMs: number | null;
  /** The text of `Retry-After`. */
  readonly retryAfter: string | null;
  readonly location: string | null;
  readonly headers: IncomingHttpHeaders;
  /** The reason phrase of the status line. */
  readonly reason: string;
}

/** 2xx with its whole body; any other status with the beginning of its body as text. */
export type HttpResponse =
  | { readonly kind: 'success'; readonly head: ResponseHead; readonly body: Body }
  | {
      readonly kind: 'failure';
      readonly head: ResponseHead;
      readonly text: string;
      /** Whether `text` is certainly the whole body. */
      readonly isWhole: boolean;
    };

/** Enough for any error message; the rest of an error page is not read. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Makes one request, without retries and redirects. Throws undici's errors for the connection, BodyError for an
 * unreadable body or when the whole response takes too long, and the signal's reason when aborted.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  http: HttpSettings,
  now: () => number,
): Promise<HttpResponse> {
  const { method, origin, path, headers, body: content, onSend, signal } = request;
  const response = await readResponse(
    dispatcher,
    {
      method,
      origin,
      path,
      headers,
      body: content,
      headersTimeout: http.headersTimeoutMs,
      bodyTimeout: http.bodyTimeoutMs,
    },
    {
      onSend,
      signal,
      timeoutMs: http.responseTimeoutMs,
      maxBytes: http.maxBodyBytes,
      maxErrorBytes: MAX_ERROR_BYTES,
    },
  );
  const head = readHead(response, now());
  const coding = bodyHeaders(response);
  if (!isSuccess(head.status)) {
    const { text, isDecoded } = await readErrorText(response.chunks, coding, MAX_ERROR_BYTES);
    const isWhole = isDecoded && response.isWhole && endIsMarked(response);
    return { kind: 'failure', head, text, isWhole };
  }
  const body = await readBody(response.chunks, coding, http.maxBodyBytes);
  if (body.bytes === 0 && !endIsMarked(response)) {
    throw new BodyError('truncated', 'The body is empty and its end is not marked.');
  }
  return { kind: 'success', head, body };
}

/** Whether the end of a body is marked (RFC 9112 6.3). If not, a truncated body looks the same as a complete one. */
function endIsMarked({ status, headers }: RawResponse): boolean {
  if (status === 204 || status === 205) return true;
  return header(headers, 'content-length') !== null || header(headers, 'transfer-encoding') !== null;
}

function readHead({ status, headers, reason }: RawResponse, nowMs: number): ResponseHead {
  const date = header(headers, 'date');
  const serviceDate = date === null ? null : parseHttpDate(date, nowMs);
  const retryAfter = header(headers, 'retry-after');
  return {
    status,
    serviceDate,
    retryAfterMs: isSuccess(status) ? null : requiredWaitMs(headers, { serviceDateMs: serviceDate, nowMs }),
    retryAfter,
    location: header(headers, 'location'),
    headers,
    reason,
  };
}

function requiredWaitMs(
  headers: IncomingHttpHeaders,
  clock: { readonly serviceDateMs: number | null; readonly nowMs: number },
): number | null {
  const requested = parseRetryAfter(header(headers, 'retry-after'), clock);
  if (requested !== null || !isLimitUsedUp({ headers })) return requested;
  return resetDelayMs(headers, clock);
}

function bodyHeaders({ headers }: RawResponse): BodyHeaders {
  return {
    contentEncoding: header(headers, 'content-encoding'),
    contentLength: header(headers, 'content-length'),
    contentType: header(headers, 'content-type'),
  };
}

/** Header lines with the same name form one list (RFC 9110 5.3). */
function header(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return Array.isArray(value) ? value.join(', ') : value;
}
