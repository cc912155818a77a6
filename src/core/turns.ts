import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** Work of a connection that runs in this process. */
interface Work {
  readonly connection: string;
  /** Milliseconds, by the monotonic clock. */
  readonly startedAt: number;
  /** When it last continued after a pause. */
  resumedAt: number;
}

interface TurnsOptions {
  /** Work that has run for so long makes pauses; ms. Default: 2 s. */
  readonly longMs?: number;
  /** Work of others counts as short for so long; ms. Default: 10 s. */
  readonly shortMs?: number;
  /** A connection whose work has ended gets so long to start its next step; ms. Default: 150. */
  readonly graceMs?: number;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

/** A shorter piece of work is not followed by a pause; ms. */
const PIECE_MS = 10;
/** A pause lasts at most so many times as long as the piece of work before it, so that long work keeps a fifth of its speed. */
const PAUSE_FACTOR = 4;
const MAX_PAUSE_MS = 500;
const CHECK_MS = 10;

/**
 * Lets long work of one connection give way to short work of other connections in this process. All connections of a worker
 * share one event loop: without pauses, a connection that loads millions of rows would make every step of the others wait.
 */
export class Turns {
  readonly #current = new AsyncLocalStorage<Work>();
  readonly #running = new Set<Work>();
  /** When a connection's short work last ended. */
  readonly #ended = new Map<string, number>();
  readonly #longMs: number;
  readonly #shortMs: number;
  readonly #graceMs: number;
  readonly #now: () => number;

  constructor({ longMs = 2_000, shortMs = 10_000, graceMs = 150, now }: TurnsOptions = {}) {
    this.#longMs = longMs;
    this.#shortMs = shortMs;
    this.#graceMs = graceMs;
    this.#now = now ?? (() => performance.now());
  }

  /** Runs work of a connection. Only work inside gives way, and only to work inside. */
  async run<T>(connection: string, work: () => Promise<T>): Promise<T> {
    const startedAt = this.#now();
    const own: Work = { connection, startedAt, resumedAt: startedAt };
    this.#running.add(own);
    try {
      return await this.#current.run(own, work);
    } finally {
      this.#running.delete(own);
      if (this.#isShort(own)) this.#ended.set(connection, this.#now());
    }
  }

  /** Call between two pieces of work. Long work pauses while another connection has short work, for a limited time. */
  async next(): Promise<void> {
    const own = this.#current.getStore();
    if (own === undefined || this.#now() - own.startedAt < this.#longMs) return;
    const begun = this.#now();
    const pieceMs = begun - own.resumedAt;
    if (pieceMs < PIECE_MS) return;
    const pauseMs = Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * pieceMs);
    while (this.#othersWait(own) && this.#now() - begun < pauseMs) await delay(CHECK_MS);
    own.resumedAt = this.#now();
  }

  #othersWait({ connection }: Work): boolean {
    for (const other of this.#running)
      if (other.connection !== connection && this.#isShort(other)) return true;
    for (const [other, at] of this.#ended) {
      if (this.#now() - at > this.#graceMs) this.#ended.delete(other);
      else if (other !== connection) return true;
    }
    return false;
  }

  #isShort({ startedAt }: Work): boolean {
    return this.#now() - startedAt < this.#shortMs;
  }
}

/** The turns of this process: all its workers share one event loop. */
export const turns = new Turns();
