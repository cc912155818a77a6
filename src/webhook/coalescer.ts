/** The coalescer's clock, which tests replace. */
export interface Clock {
  /** Monotonic time in milliseconds. */
  now(): number;
  /** Runs a callback once after `ms` milliseconds. */
  after(ms: number, run: () => void): void;
}

interface CoalescerOptions {
  /** Sends one signal for all waiting notices; resolves when it is durable. */
  readonly send: (key: string, notices: number) => Promise<void>;
  /** Least time from the start of one signal of a key to the start of the next, in milliseconds. */
  readonly spacingMs: number;
  readonly clock: Clock;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The signals of one key: at most one in flight. Notices that arrive meanwhile share the next one. */
interface KeyQueue {
  waiting: Waiter[];
  /** A signal is in flight, or the next one is scheduled. */
  busy: boolean;
}

const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  after: (ms, run) => void setTimeout(run, ms),
};

/** Least time between two signals of one resource, in milliseconds. */
const SPACING_MS = 1_000;

/**
 * Combines many notices into few signals. A notice is confirmed by a signal that starts after it arrived, never by one
 * that is already in flight. Signals of one key keep a minimum distance, so that a high rate of notices does not grow a
 * history.
 */
export class Coalescer {
  readonly #options: CoalescerOptions;
  readonly #queues = new Map<string, KeyQueue>();

  constructor(options: Pick<CoalescerOptions, 'send'> & Partial<CoalescerOptions>) {
    this.#options = { spacingMs: SPACING_MS, clock: REAL_CLOCK, ...options };
  }

  /** Resolves when a signal that started after this call is durable. @throws what `send` throws */
  notify(key: string): Promise<void> {
    const queue = this.#queues.get(key) ?? { waiting: [], busy: false };
    this.#queues.set(key, queue);
    return new Promise((resolve, reject) => {
      queue.waiting.push({ resolve, reject });
      if (!queue.busy) void this.#sendNext(key, queue);
    });
  }

  async #sendNext(key: string, queue: KeyQueue): Promise<void> {
    const { send, clock, spacingMs } = this.#options;
    const batch = queue.waiting;
    queue.waiting = [];
    queue.busy = true;
    const startedAt = clock.now();
    try {
      await send(key, batch.length);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    clock.after(Math.max(0, startedAt + spacingMs - clock.now()), () => {
      if (queue.waiting.length > 0) void this.#sendNext(key, queue);
      else {
        queue.busy = false;
        this.#queues.delete(key);
      }
    });
  }
}
