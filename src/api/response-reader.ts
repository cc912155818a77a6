import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { tooLarge, tooSlow } from './body.js';
import { ChunkList } from './chunk-list.js';
import { isSuccess } from './classify.js';

/** A response as it arrived, with its body still encoded. */
export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The reason phrase of the status line. */
  readonly reason: string;
  readonly chunks: readonly Buffer[];
  /** Whether the body ended by itself. Only that of an error can be cut. */
  readonly isWhole: boolean;
}

type ResponseHead = Pick<RawResponse, 'status' | 'headers' | 'reason'>;

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
export function readResponse(
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
  #head: ResponseHead | null = null;
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

  #response(head: ResponseHead, isWhole: boolean): RawResponse {
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
