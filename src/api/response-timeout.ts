import { BodyError } from './body.js';

/** Aborts one exchange at its deadline or with the caller's signal, whichever comes first. */
export class ResponseDeadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#outer?.reason);

  constructor(limitMs: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#controller.abort(tooSlow(limitMs)), limitMs);
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

/** The error for a response that is not complete within `http.responseTimeout`, although bytes keep arriving. */
function tooSlow(limitMs: number): BodyError {
  return new BodyError(
    'too-slow',
    `the response was not complete after ${limitMs / 1000} s. If the service needs this long, raise http.responseTimeout.`,
  );
}
