import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { parseHttpDate, parseRetryAfter, resetDelayMs } from '../core/retry-after.js';
import type { HttpSettings } from '../core/settings.js';
import {
  type Body,
  BodyError,
  type BodyHeaders,
  readBody,
  readErrorText,
  tooLarge,
  tooSlow,
} from './body.js';
import { isLimitUsedUp, isSuccess } from './classify-response.js';

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

/** A response as it arrived, with its body still encoded. */
interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The reason phrase of the status line. */
  readonly reason: string;
  readonly chunks: readonly Buffer[];
  /** Whether the body ended by itself. Only that of an error can be cut. */
  readonly isWhole: boolean;
}

type RawHead = Pick<RawResponse, 'status' | 'headers' | 'reason'>;

interface ReaderOptions {
  /** Called just before the first byte is sent. Without this call, no part of the request has left the process. */
  readonly onSend: (() => void) | undefined;
  readonly signal: AbortSignal | undefined;
  /** Limit for the whole response, from the dispatch to the last byte of the body, ms. */
  readonly timeoutMs: number;
  /** Limit for the encoded body of a 2xx, bytes. */
  readonly maxBytes: number;
  /** Of any other response, at most this much is read, bytes. */
  readonly maxErrorBytes: number;
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
  request: Dispatcher.DispatchOptions,
  options: ReaderOptions,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    options.signal?.throwIfAborted();
    dispatcher.dispatch(request, new ResponseReader(options, resolve, reject));
  });
}

class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #options: ReaderOptions;
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#stop(this.#options.signal?.reason);
  readonly #chunks = new ChunkList();
  #controller: Dispatcher.DispatchController | null = null;
  #hasEnded = false;
  #head: RawHead | null = null;
  #bytes = 0;

  constructor(
    options: ReaderOptions,
    resolve: (response: RawResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#stop(tooSlow(options.timeoutMs)), options.timeoutMs);
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** undici calls it again if it writes the same request to another connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // A request that was stopped while it waited for a connection is dropped here without being sent.
    if (this.#hasEnded) controller.abort(new Error('the request was stopped before it was sent'));
    else this.#options.onSend?.();
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    reason = '',
  ): void {
    // An interim response (RFC 9110 15.2).
    if (status < 200) return;
    this.#head = { status, headers, reason };
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes, maxErrorBytes } = this.#options;
    this.#bytes += chunk.length;
    if (this.#bytes <= (this.#isSuccess() ? maxBytes : maxErrorBytes)) this.#chunks.add(chunk);
    else this.#stop(tooLarge(maxBytes));
  }

  onResponseEnd(): void {
    this.#end();
    this.#resolve(this.#response(this.#head!, true));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  /** Ends the exchange before its time. */
  #stop(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(reason as Error);
  }

  /** The status of an error matters most, so a failure only shortens its text. The caller's own signal ends everything. */
  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#end();
    const { signal } = this.#options;
    if (signal?.aborted) this.#reject(signal.reason);
    else if (this.#head !== null && !this.#isSuccess()) this.#resolve(this.#response(this.#head, false));
    else this.#reject(error);
  }

  #response(head: RawHead, isWhole: boolean): RawResponse {
    return { ...head, chunks: this.#chunks.chunks(), isWhole };
  }

  #isSuccess(): boolean {
    return this.#head !== null && isSuccess(this.#head.status);
  }

  #end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    // Otherwise the caller's signal keeps one listener per request.
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
  }
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
