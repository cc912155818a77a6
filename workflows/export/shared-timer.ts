import { CancellationScope, condition } from '@temporalio/workflow';

/** One timer for several waits. Each timer takes two events of a history, and is billed as an action. */
export class SharedTimer {
  /** The ends of the waits, milliseconds since 1970. */
  readonly #ends = new Set<{ readonly at: number }>();
  #isRunning = false;

  /**
   * Waits until a condition holds, or until a time.
   *
   * @param at milliseconds since 1970
   * @throws CancelledFailure if the workflow is cancelled
   */
  async waitUntil(isOver: () => boolean, at: number): Promise<void> {
    const end = { at };
    this.#ends.add(end);
    // A wait that is cancelled removes its end, which stops the timer.
    if (!this.#isRunning) void CancellationScope.nonCancellable(() => this.#run());
    try {
      await condition(() => isOver() || Date.now() >= at);
    } finally {
      this.#ends.delete(end);
    }
  }

  /** Lets a timer run for the earliest end. If that wait ends earlier, the timer stays, and may fire for nothing. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#ends.size > 0) {
      const next = this.#next();
      const isStale = (): boolean => this.#ends.size === 0 || this.#next() < next;
      if (next === Number.POSITIVE_INFINITY) await condition(isStale);
      else await condition(isStale, next - Date.now());
    }
    this.#isRunning = false;
  }

  /** The earliest end that is still to come; infinity if there is none. */
  #next(): number {
    return Math.min(...[...this.#ends].map(({ at }) => at).filter((at) => at > Date.now()));
  }
}
