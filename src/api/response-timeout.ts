import { WorktrackError } from '../core/errors.js';

/** A response was not complete within `http.responseTimeout`, although bytes kept arriving. */
export class ResponseTimeoutError extends WorktrackError {
  readonly code = 'SERVICE_TRANSIENT';

  constructor(limitMs: number) {
    super(
      `the response was not complete after ${limitMs / 1000} s. If the service needs this long, raise http.responseTimeout`,
    );
  }
}

/** Aborts one exchange at its deadline or with the caller's signal, whichever comes first. */
export class ResponseDeadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#outer?.reason);

  constructor(limitMs: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#controller.abort(new ResponseTimeoutError(limitMs)), limitMs);
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Must be called after the exchange; otherwise the caller's signal keeps one listener per request. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onAbort);
  }
}
