/** Milliseconds. */
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The service's clock. It runs in real time until a test sets it; then it is stopped until it is advanced or started. */
export class ServiceClock {
  #stoppedAt: number | null;
  #offset = 0;

  /** @param start the clock is stopped at this time, ms since 1970; without it, the clock runs in real time */
  constructor(start?: number) {
    this.#stoppedAt = start ?? null;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#stoppedAt ?? Date.now() + this.#offset;
  }

  /** Stops the clock at `ms`. */
  set(ms: number): void {
    if (!Number.isFinite(ms)) throw new RangeError(`the clock cannot be set to ${ms}`);
    this.#stoppedAt = ms;
  }

  /** Advances the clock by `ms`; a running clock keeps running. */
  advance(ms: number): void {
    if (!Number.isFinite(ms)) throw new RangeError(`the clock cannot be advanced by ${ms}`);
    if (this.#stoppedAt === null) this.#offset += ms;
    else this.#stoppedAt += ms;
  }

  /** Starts a stopped clock from its current value. */
  run(): void {
    if (this.#stoppedAt === null) return;
    this.#offset = this.#stoppedAt - Date.now();
    this.#stoppedAt = null;
  }
}
