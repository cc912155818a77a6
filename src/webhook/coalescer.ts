/** Sends one signal for all waiting notices; resolves when it is durable. */
type Send = (key: string, notices: number) => Promise<void>;

/** A signal that has not started, for all notices that arrive until then. */
interface NextSignal {
  notices: number;
  readonly sent: Promise<void>;
}

/** Least time from the start of one signal of a resource to the start of the next, in milliseconds. */
const SPACING_MS = 1_000;

/**
 * Combines many notices into few signals. A notice is confirmed by a signal that starts after it arrived, never by one
 * that is already in flight. Signals of one key keep a minimum distance, so that a high rate of notices does not grow a
 * history.
 */
export class Coalescer {
  readonly #send: Send;
  readonly #spacingMs: number;
  /** By key: resolves when its last signal has ended and the next one may start. */
  readonly #pauses = new Map<string, Promise<void>>();
  readonly #next = new Map<string, NextSignal>();

  constructor(send: Send, spacingMs = SPACING_MS) {
    this.#send = send;
    this.#spacingMs = spacingMs;
  }

  /** Resolves when a signal that started after this call is durable. @throws what `send` throws */
  notify(key: string): Promise<void> {
    const pause = this.#pauses.get(key);
    if (pause === undefined) return this.#start(key, 1);
    const known = this.#next.get(key);
    if (known !== undefined) {
      known.notices++;
      return known.sent;
    }
    const next: NextSignal = { notices: 1, sent: pause.then(() => this.#start(key, next.notices)) };
    this.#next.set(key, next);
    return next.sent;
  }

  #start(key: string, notices: number): Promise<void> {
    this.#next.delete(key);
    const sent = this.#send(key, notices);
    const spacing = new Promise((resolve) => setTimeout(resolve, this.#spacingMs));
    const pause = Promise.allSettled([sent, spacing]).then(() => {
      if (!this.#next.has(key)) this.#pauses.delete(key);
    });
    this.#pauses.set(key, pause);
    return sent;
  }
}
