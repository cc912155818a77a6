/** The service's clock: real time until a test sets it, then it stands still until told to move. */
export class ServiceClock {
  #standing: number | null;
  #offset = 0;

  /** `start` in ms since 1970 freezes the clock there; without it the clock runs with real time. */
  constructor(start?: number) {
    this.#standing = start ?? null;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#standing ?? Date.now() + this.#offset;
  }

  /** Stops the clock at `ms`. */
  set(ms: number): void {
    if (!Number.isFinite(ms)) throw new RangeError(`the clock cannot be set to ${ms}`);
    this.#standing = ms;
  }

  /** Moves the clock by `ms`; a running clock goes on running. */
  advance(ms: number): void {
    if (!Number.isFinite(ms)) throw new RangeError(`the clock cannot be advanced by ${ms}`);
    if (this.#standing === null) this.#offset += ms;
    else this.#standing += ms;
  }

  /** Lets a stopped clock run again from where it stands. */
  run(): void {
    if (this.#standing === null) return;
    this.#offset = this.#standing - Date.now();
    this.#standing = null;
  }
}
