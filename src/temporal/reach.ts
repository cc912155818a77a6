import { setTimeout as delay } from 'node:timers/promises';

/** How long a server may be out of reach before a command gives up (DESIGN 5, exit code 4), in milliseconds. */
export const REACH_TIMEOUT_MS = 60_000;
const RETRY_EVERY_MS = 1_000;

/** Temporal or the object store did not answer for longer than is bearable. */
export class OutOfReachError extends Error {
  override readonly name = 'OutOfReachError';
  readonly code = 'OUT_OF_REACH';
}

export interface ReachOptions {
  /** Default: `REACH_TIMEOUT_MS`. */
  readonly timeoutMs?: number | undefined;
  /** Hears of the first failure, to tell whoever waits. */
  readonly onTrouble?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Counts how long something has been out of reach without a break. */
export class Patience {
  #since: number | null = null;
  readonly #what: string;
  readonly #options: ReachOptions;

  constructor(what: string, options: ReachOptions) {
    this.#what = what;
    this.#options = options;
  }

  /** It answered. */
  answered(): void {
    this.#since = null;
  }

  /** Milliseconds that are left before it is given up. */
  left(now: number = performance.now()): number {
    return this.#since === null ? this.#limit : this.#limit - (now - this.#since);
  }

  /** It did not answer. @throws OutOfReachError when that has been so for too long */
  failed(why: string, now: number = performance.now()): void {
    if (this.#since === null) {
      this.#since = now;
      this.#options.onTrouble?.(`${this.#what} is out of reach (${why}); trying for ${seconds(this.#limit)}`);
    }
    if (this.left(now) > 0) return;
    throw new OutOfReachError(`${this.#what} has been out of reach for ${seconds(this.#limit)}: ${why}`);
  }

  get #limit(): number {
    return this.#options.timeoutMs ?? REACH_TIMEOUT_MS;
  }
}

/**
 * Repeats `attempt` every second until it succeeds or fails for another reason than that nobody answers.
 *
 * @throws OutOfReachError when nobody answers for `timeoutMs`
 */
export async function reach<T>(
  what: string,
  attempt: () => Promise<T>,
  isTrouble: (error: unknown) => boolean,
  describe: (error: unknown) => string,
  options: ReachOptions = {},
): Promise<T> {
  const patience = new Patience(what, options);
  const began = performance.now();
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      return await within(attempt(), patience.left());
    } catch (error) {
      if (!(error instanceof Silence) && !isTrouble(error)) throw error;
      // Silence counts from when the question was asked.
      if (error instanceof Silence) patience.failed('no answer', began);
      patience.failed(error instanceof Silence ? 'no answer' : describe(error));
    }
    await delay(Math.max(10, Math.min(RETRY_EVERY_MS, patience.left())), undefined, {
      signal: options.signal,
    });
  }
}

class Silence extends Error {}

/** Bounds a call that may never answer. The call itself goes on, and what it brings is dropped. */
async function within<T>(call: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Silence()), Math.max(ms, 1));
  });
  call.catch(() => {});
  try {
    return await Promise.race([call, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
