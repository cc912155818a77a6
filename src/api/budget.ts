import { fasterPace, type Pace, slowerPace } from './pace.js';

export interface RateBudgetOptions {
  /** The most requests at a time. */
  readonly concurrency: number;
  /** The most requests per second, evenly spaced; null: no such bound. */
  readonly requestsPerSecond: number | null;
  /** Milliseconds since the epoch. The default never jumps, unlike the machine's clock. */
  readonly now?: (() => number) | undefined;
}

/** How a request went, as far as the budget cares. */
export type LeaseOutcome =
  | { readonly kind: 'success' }
  /** Neither good nor bad news about the pace. */
  | { readonly kind: 'failure' }
  /** The service named a time before which it wants no request (a `Retry-After` that is no 429). */
  | { readonly kind: 'hold'; readonly delayMs: number }
  /** 429: too fast. */
  | { readonly kind: 'throttled'; readonly delayMs: number };

/** The right to make one request. `release` must be called when it is over; only the first call counts. */
export interface Lease {
  release(outcome: LeaseOutcome): void;
}

/** `held`: the wait would be longer than the caller is willing to wait here; nothing was taken. */
export type Acquired =
  | { readonly kind: 'granted'; readonly lease: Lease }
  | { readonly kind: 'held'; readonly untilMs: number };

export interface AcquireOptions {
  readonly signal?: AbortSignal | undefined;
  /** The longest hold to sit out; a longer one gives `held`. */
  readonly maxHoldMs: number;
  /** Told when a hold begins to keep this request waiting; not for the ordinary spacing. */
  readonly onHold?: ((untilMs: number) => void) | undefined;
}

/** For progress displays and metrics. */
export interface RateBudgetState {
  /** Until when no request goes out, in ms since the epoch; null when none is held back. */
  readonly waitingUntil: number | null;
  readonly inFlight: number;
  readonly queued: number;
  readonly concurrency: number;
  readonly requestsPerSecond: number | null;
}

interface Waiter {
  readonly options: AcquireOptions;
  readonly settle: (acquired: Acquired) => void;
}

/**
 * One rate budget for all requests of a connection in this process (DESIGN 3.13). First come, first served. On 429 the
 * pace halves, once for all the requests that were under way at that time, and recovers step by step with successes.
 */
export class RateBudget {
  readonly #ceiling: Pace;
  readonly #now: () => number;
  readonly #queue: Waiter[] = [];
  #pace: Pace;
  #inFlight = 0;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #nextSlot = Number.NEGATIVE_INFINITY;
  /** Counts slow-downs, to tell whether a lease began before the latest. */
  #slowdowns = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RateBudgetOptions) {
    this.#ceiling = { concurrency: Math.max(1, options.concurrency), perSecond: options.requestsPerSecond };
    this.#pace = this.#ceiling;
    this.#now = options.now ?? (() => performance.timeOrigin + performance.now());
  }

  get state(): RateBudgetState {
    return {
      waitingUntil: this.#heldUntil > this.#now() ? this.#heldUntil : null,
      inFlight: this.#inFlight,
      queued: this.#queue.length,
      concurrency: Math.floor(this.#pace.concurrency),
      requestsPerSecond: this.#pace.perSecond,
    };
  }

  /** Milliseconds from now, by the budget's own clock, to a time that it gave; never negative. */
  leftUntil(untilMs: number): number {
    return Math.max(0, untilMs - this.#now());
  }

  /** Waits for its turn. Rejects with the signal's reason when aborted meanwhile. */
  acquire(options: AcquireOptions): Promise<Acquired> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#leave(waiter);
        reject(signal?.reason);
        // The timer may have been set for this one alone.
        this.#pump();
      };
      const waiter: Waiter = {
        options,
        settle: (acquired) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(acquired);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(waiter);
      this.#announceHold([waiter]);
      this.#pump();
    });
  }

  #release(outcome: LeaseOutcome, slowdownsAtStart: number): void {
    this.#inFlight -= 1;
    if (outcome.kind === 'success') this.#pace = fasterPace(this.#pace, this.#ceiling);
    if (outcome.kind === 'throttled' && slowdownsAtStart === this.#slowdowns) {
      this.#slowdowns += 1;
      this.#pace = slowerPace(this.#pace, this.#ceiling);
    }
    if (outcome.kind === 'throttled' || outcome.kind === 'hold') this.#hold(this.#now() + outcome.delayMs);
    this.#pump();
  }

  /** A hold only ever grows: the service said so to one of us, and another answer does not take it back. */
  #hold(untilMs: number): void {
    if (untilMs <= this.#heldUntil) return;
    this.#heldUntil = untilMs;
    this.#announceHold([...this.#queue]);
  }

  #leave(waiter: Waiter): void {
    const index = this.#queue.indexOf(waiter);
    if (index >= 0) this.#queue.splice(index, 1);
  }

  #announceHold(waiters: readonly Waiter[]): void {
    const until = this.#heldUntil;
    const left = until - this.#now();
    if (left <= 0) return;
    for (const waiter of waiters) {
      if (left <= waiter.options.maxHoldMs) {
        waiter.options.onHold?.(until);
        continue;
      }
      this.#leave(waiter);
      waiter.settle({ kind: 'held', untilMs: until });
    }
  }

  /** Lets out what may go, and sets the timer for the next that may not yet. */
  #pump(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#queue.length > 0 && this.#inFlight < Math.floor(this.#pace.concurrency)) {
      const now = this.#now();
      const due = Math.max(this.#heldUntil, this.#nextSlot);
      if (due > now) {
        // Timers may fire up to a millisecond early; the loop then simply comes here again.
        this.#timer = setTimeout(() => this.#pump(), Math.min(Math.ceil(due - now), 2 ** 31 - 1));
        return;
      }
      const waiter = this.#queue.shift();
      if (waiter === undefined) return;
      this.#inFlight += 1;
      // From now, not from the last slot: idle time must not be saved up for a burst.
      if (this.#pace.perSecond !== null) this.#nextSlot = now + 1000 / this.#pace.perSecond;
      waiter.settle({ kind: 'granted', lease: this.#lease() });
    }
  }

  #lease(): Lease {
    const slowdownsAtStart = this.#slowdowns;
    let open = true;
    return {
      release: (outcome) => {
        if (!open) return;
        open = false;
        this.#release(outcome, slowdownsAtStart);
      },
    };
  }
}
