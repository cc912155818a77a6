import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { parseHttpDate, parseRetryAfter, resetDelayMs } from '../core/parse-retry-after.js';
import type { HttpSettings } from '../core/settings.js';
import { systemCode } from '../core/system-error.js';
import {
  type Body,
  BodyError,
  brokenHeaders,
  headerOf,
  readBody,
  readErrorText,
  tooLarge,
  tooSlow,
} from './body.js';
import { isLimitLeft, isLimitUsedUp, isSuccess } from './classify-response.js';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called just before the first byte is sent. Without this call, no part of the request has left the process. */
  readonly onSend?: () => void;
}

interface ResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The reason phrase of the status line. */
  readonly reason: string;
}

/** 2xx with its whole body; any other status with the beginning of its body as text. */
export type HttpResponse = ResponseHead & {
  /** The service's clock, in ms since the epoch. */
  readonly serviceDate: number | null;
} & (
    | { readonly kind: 'success'; readonly body: Body }
    | {
        readonly kind: 'failure';
        /** The wait that the service requires: `Retry-After`, or the reset of a limit that is used up. */
        readonly retryAfterMs: number | null;
        /** Whether that is the reset of a limit: no request may be sent until then. */
        readonly isReset: boolean;
        readonly text: string;
        /** Whether `text` is certainly the whole body. */
        readonly isWhole: boolean;
      }
  );

/** Enough for any error message, in bytes; the rest of an error page is not read. */
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
  const { chunks, isWhole, ...head } = await readResponse(dispatcher, request, http);
  const { status, headers } = head;
  const nowMs = now();
  const date = headerOf(headers, 'date');
  const serviceDate = date === null ? null : parseHttpDate(date, nowMs);
  if (!isSuccess(status)) {
    const { text, isDecoded } = await readErrorText(chunks, headers, MAX_ERROR_BYTES);
    const clock = { serviceDateMs: serviceDate, nowMs };
    const requested = parseRetryAfter(headerOf(headers, 'retry-after'), clock);
    // A 429 says itself that the limit is used up.
    const isUsedUp = isLimitUsedUp({ headers }) || (status === 429 && !isLimitLeft({ headers }));
    const resetMs = requested === null && isUsedUp ? resetDelayMs(headers, clock) : null;
    const isAll = isDecoded && isWhole && endIsMarked(head);
    return {
      ...{ kind: 'failure', ...head, serviceDate, text, isWhole: isAll },
      ...{ retryAfterMs: requested ?? resetMs, isReset: resetMs !== null },
    };
  }
  const body = await readBody(chunks, headers, http.maxBodyBytes);
  if (body.bytes === 0 && !endIsMarked(head)) {
    throw new BodyError('truncated', 'The body is empty and its end is not marked.');
  }
  // A response from a cache is as old as `Age` says, in seconds, and some caches give it a new `Date`.
  const age = /^\d{1,9}$/.exec(headerOf(headers, 'age') ?? '0')?.[0] ?? '0';
  return { kind: 'success', ...head, serviceDate: serviceDate && serviceDate - 1000 * Number(age), body };
}

/** Whether the end of a body is marked (RFC 9112 6.3). If not, a truncated body looks the same as a complete one. */
function endIsMarked({ status, headers }: ResponseHead): boolean {
  if (status === 204 || status === 205) return true;
  return headerOf(headers, 'content-length') !== null || headerOf(headers, 'transfer-encoding') !== null;
}

/** A response as it arrived, with its body still encoded. */
interface RawResponse extends ResponseHead {
  readonly chunks: readonly Buffer[];
  /** Whether the body ended by itself. Only that of an error can be cut. */
  readonly isWhole: boolean;
}

/**
 * Sends one request and reads its whole response. The body of a status other than 2xx may be cut: its beginning is
 * enough for a message. Rejects with undici's errors for the connection, with a BodyError if the response is too large or
 * too slow, and with the signal's reason when aborted.
 *
 * This is a handler and not undici's `request`, which makes a stream and an abort signal for each response: for a
 * thousand small responses a second, these cost more than the responses themselves.
 */
function readResponse(
  dispatcher: Dispatcher,
  request: HttpRequest,
  http: HttpSettings,
): Promise<RawResponse> {
  const { method, origin, path, headers = {}, body = null, signal, onSend } = request;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const chunks = new ChunkList();
    let bytes = 0;
    let head: ResponseHead | null = null;
    let controller: Dispatcher.DispatchController | null = null;
    let hasEnded = false;
    const end = (): void => {
      hasEnded = true;
      clearTimeout(timer);
      // Otherwise the caller's signal keeps one listener per request.
      signal?.removeEventListener('abort', onAbort);
    };
    /** The status of an error matters most, so a failure only shortens its text. The caller's own signal ends everything. */
    const fail = (error: unknown): void => {
      if (hasEnded) return;
      end();
      if (signal?.aborted) reject(signal.reason);
      else if (head === null || isSuccess(head.status))
        reject(breaksHeaders(head, error) ? brokenHeaders(error) : error);
      else resolve({ ...head, chunks: chunks.chunks(), isWhole: false });
    };
    /** Ends the exchange before its time. */
    const stop = (reason: unknown): void => {
      fail(reason);
      controller?.abort(reason as Error);
    };
    const onAbort = (): void => stop(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    // From the dispatch to the last byte of the body.
    const timer = setTimeout(() => stop(tooSlow(http.responseTimeoutMs)), http.responseTimeoutMs);
    const { headersTimeoutMs: headersTimeout, bodyTimeoutMs: bodyTimeout } = http;
    const options = { method, origin, path, headers, body, headersTimeout, bodyTimeout };
    dispatcher.dispatch(options, {
      // undici calls it again if it writes the same request to another connection.
      onRequestStart(started) {
        controller = started;
        // A request that was stopped while it waited for a connection is dropped here without being sent.
        if (hasEnded) started.abort(new Error('the request was stopped before it was sent'));
        else onSend?.();
      },
      onResponseStart(_, status, responseHeaders, reason) {
        // Below 200, it is an interim response (RFC 9110 15.2).
        if (status >= 200) head = { status, headers: responseHeaders, reason: reason ?? '' };
      },
      onResponseData(_, chunk) {
        bytes += chunk.length;
        const limit = head !== null && isSuccess(head.status) ? http.maxBodyBytes : MAX_ERROR_BYTES;
        if (bytes <= limit) chunks.add(chunk);
        else stop(tooLarge(http.maxBodyBytes));
      },
      onResponseEnd() {
        end();
        resolve({ ...head!, chunks: chunks.chunks(), isWhole: true });
      },
      onResponseError: (_, error) => fail(error),
    });
  });
}

/**
 * Whether the headers state the length of the body in two ways (RFC 9112 6.3), or a wrong header follows Content-Length. The HTTP
 * client reports both as a wrong length, before it has passed the headers on; later, the body was cut.
 */
function breaksHeaders(head: ResponseHead | null, error: unknown): boolean {
  return head === null && systemCode(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
}

/** Chunks below this size are joined, bytes. */
const SMALL_BYTES = 4096;
/** Small chunks that are joined at a time. */
const JOINED = 256;

/** Collects the chunks of a body. Small ones are joined: each buffer takes about 120 bytes more than its content. */
export class ChunkList {
  readonly #chunks: Buffer[] = [];
  #small: Buffer[] = [];

  add(chunk: Buffer): void {
    if (chunk.length >= SMALL_BYTES) {
      this.#join();
      this.#chunks.push(chunk);
    } else if (this.#small.push(chunk) === JOINED) {
      this.#join();
    }
  }

  /** All chunks so far, in order. */
  chunks(): readonly Buffer[] {
    this.#join();
    return this.#chunks;
  }

  #join(): void {
    const [only] = this.#small;
    if (only === undefined) return;
    this.#chunks.push(this.#small.length === 1 ? only : Buffer.concat(this.#small));
    this.#small = [];
  }
}
