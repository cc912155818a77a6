/** Time as the coalescer sees it. */
export interface Clock {
  /** Milliseconds that only go forward. */
  now(): number;
  /** Runs something once, after so many milliseconds. */
  after(ms: number, run: () => void): void;
}

export interface CoalescerOptions {
  /** Makes one signal durable for all that wait for it. */
  readonly send: (key: string, notices: number) => Promise<void>;
  /** Least time from the start of one signal of a key to the start of the next, in milliseconds. */
  readonly spacingMs: number;
  readonly clock: Clock;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** One key's signals: at most one under way, and whoever comes meanwhile shares the next. */
interface Lane {
  waiting: Waiter[];
  /** A signal is under way, or a time for the next is set. */
  busy: boolean;
}

const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  after: (ms, run) => void setTimeout(run, ms),
};

/** Least time between two signals of one resource, in milliseconds. */
export const SPACING_MS = 1_000;

/**
 * Turns many notices into few signals. A notice is settled by a signal that starts after it came, never by one that
 * is under way already; signals of one key are apart in time, so that no rate of notices swells a history.
 */
export class Coalescer {
  readonly #options: CoalescerOptions;
  readonly #lanes = new Map<string, Lane>();

  constructor(options: Pick<CoalescerOptions, 'send'> & Partial<CoalescerOptions>) {
    this.#options = { spacingMs: SPACING_MS, clock: REAL_CLOCK, ...options };
  }

  /** Resolves when a signal that started after this call is durable. @throws what `send` throws */
  notify(key: string): Promise<void> {
    const lane = this.#lanes.get(key) ?? { waiting: [], busy: false };
    this.#lanes.set(key, lane);
    return new Promise((resolve, reject) => {
      lane.waiting.push({ resolve, reject });
      if (!lane.busy) void this.#serve(key, lane);
    });
  }

  async #serve(key: string, lane: Lane): Promise<void> {
    const { send, clock, spacingMs } = this.#options;
    const batch = lane.waiting;
    lane.waiting = [];
    lane.busy = true;
    const startedAt = clock.now();
    try {
      await send(key, batch.length);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    clock.after(Math.max(0, startedAt + spacingMs - clock.now()), () => {
      if (lane.waiting.length > 0) void this.#serve(key, lane);
      else {
        lane.busy = false;
        this.#lanes.delete(key);
      }
    });
  }
}
