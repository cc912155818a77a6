interface RateBudgetOptions {
  /** Most concurrent requests. */
  readonly concurrency: number;
  /** Most requests per second, evenly spaced; null: no limit. */
  readonly requestsPerSecond: number | null;
  /** Milliseconds since the epoch. The default is monotonic, unlike the system clock. */
  readonly now?: (() => number) | undefined;
}

/** The result of a request, as it affects the budget. */
export type LeaseOutcome =
  | { readonly kind: 'success' }
  /** Does not change the pace. */
  | { readonly kind: 'failure' }
  /** A `Retry-After` on a status other than 429: no request before that time. */
  | { readonly kind: 'hold'; readonly delayMs: number }
  /** 429: no request before that time, and a slower pace. */
  | { readonly kind: 'throttled'; readonly delayMs: number };

/** Permission for one request. Call `release` when the request ends; only the first call counts. */
export interface Lease {
  release(outcome: LeaseOutcome): void;
}

/** `held`: the hold is longer than `maxHoldMs`; no lease was granted. */
export type Acquired =
  | { readonly kind: 'granted'; readonly lease: Lease }
  | { readonly kind: 'held'; readonly untilMs: number };

interface AcquireOptions {
  /** Whether requests without it go first, whenever they came. Default: false. */
  readonly isBackground?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest hold to wait for; a longer one returns `held`. */
  readonly maxHoldMs: number;
  /** Called when a hold delays this request; not for the regular spacing. */
  readonly onHold?: ((untilMs: number) => void) | undefined;
}

interface Waiter {
  readonly options: AcquireOptions;
  readonly settle: (acquired: Acquired) => void;
}

/**
 * One rate budget for all requests of a connection in this process (docs/explanation/guarantees.md#rate-budget). First
 * come, first served, apart from those of dry runs and audits, which come last. On 429 the pace halves, once for all requests in flight at that time. It recovers step by step
 * with each success.
 */
export class RateBudget {
  readonly #ceiling: Pace;
  readonly #now: () => number;
  readonly #queue: Waiter[] = [];
  #pace: Pace;
  #inFlight = 0;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #nextSlot = Number.NEGATIVE_INFINITY;
  /** Number of slow-downs. A lease compares it to find out whether it began before the latest one. */
  #slowdowns = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RateBudgetOptions) {
    this.#ceiling = { concurrency: Math.max(1, options.concurrency), perSecond: options.requestsPerSecond };
    this.#pace = this.#ceiling;
    this.#now = options.now ?? (() => performance.timeOrigin + performance.now());
  }

  /** What holds now. `waitingUntil` is the end of the current hold, in ms since the epoch; null without a hold. */
  get state() {
    return {
      waitingUntil: this.#heldUntil > this.#now() ? this.#heldUntil : null,
      inFlight: this.#inFlight,
      queued: this.#queue.length,
      concurrency: Math.floor(this.#pace.concurrency),
      requestsPerSecond: this.#pace.perSecond,
    };
  }

  /** Milliseconds from now, on the budget's clock, until a time that it returned; never negative. */
  remainingMs(untilMs: number): number {
    return Math.max(0, untilMs - this.#now());
  }

  /** A lease that is due now; `null`: wait with `acquire`. It costs less than that, and most requests get one. */
  tryAcquire(): Lease | null {
    if (this.#queue.length > 0 || !this.#hasRoom()) return null;
    const now = this.#now();
    return this.#dueAt() > now ? null : this.#grant(now);
  }

  /** Waits for a lease. Rejects with the signal's reason when aborted. */
  acquire(options: AcquireOptions): Promise<Acquired> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#removeWaiter(waiter);
        reject(signal?.reason);
        // The timer may have been set only for this waiter.
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
      const later = options.isBackground ? -1 : this.#queue.findIndex((other) => other.options.isBackground);
      this.#queue.splice(later === -1 ? this.#queue.length : later, 0, waiter);
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

  /** A hold is only extended: a shorter `Retry-After` on another response does not cancel a longer one. */
  #hold(untilMs: number): void {
    if (untilMs <= this.#heldUntil) return;
    this.#heldUntil = untilMs;
    this.#announceHold([...this.#queue]);
  }

  #removeWaiter(waiter: Waiter): void {
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
      this.#removeWaiter(waiter);
      waiter.settle({ kind: 'held', untilMs: until });
    }
  }

  /** Grants all leases that are due, and sets the timer for the next one. */
  #pump(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#queue.length > 0 && this.#hasRoom()) {
      const now = this.#now();
      const due = this.#dueAt();
      if (due > now) {
        // A timer may fire up to a millisecond early; the loop then sets it again.
        this.#timer = setTimeout(() => this.#pump(), Math.min(Math.ceil(due - now), 2 ** 31 - 1));
        return;
      }
      const waiter = this.#queue.shift();
      if (waiter === undefined) return;
      waiter.settle({ kind: 'granted', lease: this.#grant(now) });
    }
  }

  #hasRoom(): boolean {
    return this.#inFlight < Math.floor(this.#pace.concurrency);
  }

  #dueAt(): number {
    return Math.max(this.#heldUntil, this.#nextSlot);
  }

  #grant(now: number): Lease {
    this.#inFlight += 1;
    // Counted from now and not from the last slot, so that idle time does not allow a burst.
    if (this.#pace.perSecond !== null) this.#nextSlot = now + 1000 / this.#pace.perSecond;
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

/**
 * The speed of requests: additive increase, multiplicative decrease, as in TCP, because the service does not publish its
 * limits. Immutable.
 */
interface Pace {
  /** Concurrent requests; the fraction accumulates towards the next whole one. */
  readonly concurrency: number;
  /** Requests per second; null without a limit. */
  readonly perSecond: number | null;
}

/** Lowest fraction of the configured rate. Without a lower limit, recovery would take hours. */
const LOWEST_RATE = 1 / 64;
/** Number of successes from zero to the full rate. */
const RATE_STEPS = 20;

/** Halves the pace, with at least one concurrent request. */
export function slowerPace(pace: Pace, ceiling: Pace): Pace {
  return {
    concurrency: Math.max(1, Math.floor(pace.concurrency / 2)),
    perSecond:
      pace.perSecond === null || ceiling.perSecond === null
        ? null
        : Math.max(pace.perSecond / 2, ceiling.perSecond * LOWEST_RATE),
  };
}

/** The pace after one more success. N successes at a concurrency of N allow one more concurrent request. */
export function fasterPace(pace: Pace, ceiling: Pace): Pace {
  return {
    concurrency: Math.min(ceiling.concurrency, pace.concurrency + 1 / Math.floor(pace.concurrency)),
    perSecond:
      pace.perSecond === null || ceiling.perSecond === null
        ? null
        : Math.min(ceiling.perSecond, pace.perSecond + ceiling.perSecond / RATE_STEPS),
  };
}
