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

/** Sends one signal for all waiting notices; resolves when it is durable. */
type Send = (key: string, notices: number) => Promise<void>;

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
  readonly #queues = new Map<string, KeyQueue>();

  constructor(send: Send, spacingMs = SPACING_MS) {
    this.#send = send;
    this.#spacingMs = spacingMs;
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
    const batch = queue.waiting;
    queue.waiting = [];
    queue.busy = true;
    const startedAt = performance.now();
    try {
      await this.#send(key, batch.length);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    setTimeout(
      () => {
        if (queue.waiting.length > 0) void this.#sendNext(key, queue);
        else {
          queue.busy = false;
          this.#queues.delete(key);
        }
      },
      Math.max(0, startedAt + this.#spacingMs - performance.now()),
    );
  }
}
