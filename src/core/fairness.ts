import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from './brands.js';

/** Since when a connection has been busy in this process. Times are milliseconds, by the monotonic clock. */
interface Busy {
  readonly connection: string;
  readonly since: number;
  running: number;
  endedAt: number;
  /** When its long work last continued after a pause. */
  resumedAt: number;
}

const TIMES = {
  /** A connection that has been busy for so long makes pauses; ms. */
  longMs: 2_000,
  /** A connection has short work until it has been busy for so long; ms. */
  shortMs: 10_000,
  /** A connection whose step has ended gets so long to start the next one; ms. */
  graceMs: 150,
};

interface FairnessOptions extends Partial<typeof TIMES> {
  /** Monotonic. */
  readonly now?: () => Millis;
}

/** A shorter piece of work is not followed by a pause; ms. */
const PIECE_MS = 10;
/** A pause lasts at most so many times as long as the piece of work before it, so that long work keeps a fifth of its speed. */
const PAUSE_FACTOR = 4;
const MAX_PAUSE_MS = 500;
const CHECK_MS = 10;
/** Steps of a connection with a longer gap between them are separate work; ms. */
const GAP_MS = 1_000;

/**
 * Lets long work of one connection give way to short work of other connections in this process. All connections of a worker
 * share one event loop: without pauses, a connection that loads millions of rows would make every step of the others wait.
 */
export class Fairness {
  readonly #current = new AsyncLocalStorage<Busy>();
  readonly #busy = new Map<string, Busy>();
  readonly #times: typeof TIMES;
  readonly #now: () => number;

  constructor({ now = () => performance.now(), ...times }: FairnessOptions = {}) {
    this.#times = { ...TIMES, ...times };
    this.#now = now;
  }

  /** Runs a step of a connection. Only work inside gives way, and only to work inside. */
  async run<T>(connection: string, step: () => Promise<T>): Promise<T> {
    const busy = this.#busyOf(connection);
    busy.running++;
    try {
      return await this.#current.run(busy, step);
    } finally {
      busy.running--;
      busy.endedAt = this.#now();
    }
  }

  /** Call between two pieces of work. Long work pauses while another connection has short work, for a limited time. */
  async giveWay(): Promise<void> {
    const own = this.#current.getStore();
    if (own === undefined) return;
    const begun = this.#now();
    const pieceMs = begun - own.resumedAt;
    if (begun - own.since < this.#times.longMs || pieceMs < PIECE_MS) return;
    const pauseMs = Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * pieceMs);
    while (this.#othersWait(own) && this.#now() - begun < pauseMs) await delay(CHECK_MS);
    own.resumedAt = this.#now();
  }

  #busyOf(connection: string): Busy {
    const now = this.#now();
    const known = this.#busy.get(connection);
    if (known !== undefined && !this.#isOver(known, now)) return known;
    const busy = { connection, since: now, running: 0, endedAt: now, resumedAt: now };
    this.#busy.set(connection, busy);
    return busy;
  }

  #othersWait(own: Busy): boolean {
    const now = this.#now();
    for (const other of this.#busy.values()) {
      if (this.#isOver(other, now)) this.#busy.delete(other.connection);
      else if (other !== own && now - other.since < this.#times.shortMs) {
        if (other.running > 0 || now - other.endedAt < this.#times.graceMs) return true;
      }
    }
    return false;
  }

  #isOver({ running, endedAt }: Busy, now: number): boolean {
    return running === 0 && now - endedAt > GAP_MS;
  }
}

/** The one of this process: all its workers share one event loop. */
export const fairness = new Fairness();
