const MIB = 2 ** 20;

/** Between two full collections, the heap of a worker grows by a quarter, so that many small runs take little memory. */
export const LITTLE_PERCENT = 25;
/** While many rows pass through the heap, it grows by this much: fewer collections, each of which visits all code in it. */
const MUCH_BYTES = 36 * MIB;
/** It never grows by more than its size. */
const MUCH_PERCENT = 100;

/** This many full collections within `OFTEN_MS` mean that many rows are passing through the heap. */
const OFTEN = 4;
const OFTEN_MS = 1_500;
/** Without a collection for this long, the work is done. */
export const DONE_MS = 3_000;

/**
 * Decides how much the heap may grow until the next full collection. If it may grow by only a quarter, a run that reads and
 * merges many rows fills it several times per second, and the collections take up to a third of the run's CPU time.
 */
export class HeapGrowth {
  /** Times of the last collections, oldest first. */
  readonly #times: number[] = [];
  #isBusy = false;

  /**
   * Call after each full collection.
   *
   * @param at milliseconds, monotonic
   * @param heapBytes in use soon after it
   * @returns the growth in percent of these
   */
  collected(at: number, heapBytes: number): number {
    const last = this.#times.at(-1) ?? Number.NEGATIVE_INFINITY;
    if (at - last > DONE_MS) this.done();
    this.#times.push(at);
    if (this.#times.length > OFTEN) this.#times.shift();
    if (this.#times.length === OFTEN && at - this.#times[0]! < OFTEN_MS) this.#isBusy = true;
    if (!this.#isBusy) return LITTLE_PERCENT;
    const percent = Math.round((100 * MUCH_BYTES) / heapBytes);
    return Math.min(MUCH_PERCENT, Math.max(LITTLE_PERCENT, percent));
  }

  /** Call if there was no collection for `DONE_MS`. */
  done(): void {
    this.#times.length = 0;
    this.#isBusy = false;
  }
}
