import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from './brands.js';
import { MINUTE_MS, SECOND_MS } from './duration.js';
import { WorktrackError } from './errors.js';

/** How long a server may be unreachable before a command gives up (docs/reference/exit-codes.md), in milliseconds. */
export const REACH_TIMEOUT_MS = MINUTE_MS;
const RETRY_EVERY_MS = SECOND_MS;

/** Temporal or the object store did not answer within the time limit. */
export class OutOfReachError extends WorktrackError {
  readonly code = 'OUT_OF_REACH';

  constructor(
    message: string,
    remedy = 'Check that it is running and that its address is correct (`worktrack doctor` checks both). To wait longer, set WORKTRACK_REACH_TIMEOUT=5m.',
  ) {
    super(message, { remedy });
  }
}

export interface ReachOptions {
  /** Default: `REACH_TIMEOUT_MS`. */
  readonly timeoutMs?: number | undefined;
  /** Called with a message for the user when an outage begins. */
  readonly onOutage?: ((message: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Why a server did not serve a call: words, and what to do if that is not to check that it runs. */
export type OutageReason = string | { readonly text: string; readonly remedy: string };

/** The parts of a reason. */
export function partsOf(why: OutageReason): { readonly text: string; readonly remedy?: string } {
  return typeof why === 'string' ? { text: why } : why;
}

/** Measures how long a server has been unreachable without interruption. */
export class OutageTimer {
  #since: number | null = null;

  constructor(
    private readonly what: string,
    private readonly options: ReachOptions,
  ) {}

  /** Records an answer, which ends the outage. */
  answered(): void {
    this.#since = null;
  }

  /** Milliseconds until the time limit. */
  remainingMs(now: number = performance.now()): number {
    return this.#since === null ? this.#limit : this.#limit - (now - this.#since);
  }

  /** Records a failure. @throws OutOfReachError when the outage has reached the time limit */
  failed(why: OutageReason, now: number = performance.now()): void {
    const { text, remedy } = partsOf(why);
    if (this.#since === null) {
      this.#since = now;
      this.options.onOutage?.(`${this.what} is unreachable (${text}); trying for ${seconds(this.#limit)}`);
    }
    if (this.remainingMs(now) > 0) return;
    throw new OutOfReachError(
      `${this.what} has been unreachable for ${seconds(this.#limit)}: ${text}`,
      remedy,
    );
  }

  get #limit(): number {
    return this.options.timeoutMs ?? REACH_TIMEOUT_MS;
  }
}

/**
 * Repeats `attempt` every second until it succeeds, or fails with an error that does not mean "unreachable".
 *
 * @throws OutOfReachError when there is no answer for `timeoutMs`
 */
export async function reach<T>(
  what: string,
  attempt: () => Promise<T>,
  isOutage: (error: unknown) => boolean,
  describe: (error: unknown) => OutageReason,
  options: ReachOptions = {},
): Promise<T> {
  const outage = new OutageTimer(what, options);
  const began = performance.now();
  let why: OutageReason = 'no answer';
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      return await withTimeout(attempt(), outage.remainingMs());
    } catch (error) {
      const isTimeout = error instanceof OutOfReachError;
      if (!isTimeout && !isOutage(error)) throw error;
      // A last attempt with too little time for an answer keeps the reason of the one before.
      if (!isTimeout) why = describe(error);
      // Without an answer, the outage begins at the call and not at the timeout.
      if (isTimeout) outage.failed(why, began);
      outage.failed(why);
    }
    await delay(Math.max(10, Math.min(RETRY_EVERY_MS, outage.remainingMs())), undefined, {
      signal: options.signal,
    });
  }
}

/**
 * Bounds a call that may never return. The call itself continues; its result is dropped.
 *
 * @throws what `timedOut` returns after `ms`, by default an OutOfReachError; otherwise what the call throws
 */
export async function withTimeout<T>(
  call: Promise<T>,
  ms: number,
  timedOut: () => Error = () => new OutOfReachError(noResponse(ms)),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut()), Math.max(ms, 1));
  });
  call.catch(() => {});
  try {
    return await Promise.race([call, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a message says about a call that took too long. */
export function noResponse(limitMs: Millis): string {
  return `no response within ${seconds(limitMs)}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
