const MIB = 2 ** 20;

/** Between two collections, the heap of a worker grows by a quarter, which keeps many small runs small. */
export const LITTLE_PERCENT = 25;
/** With a few rows in memory at a time, most of the heap is code. Doubling it halves the work of the collector. */
const MUCH_PERCENT = 100;
/** A larger heap grows by no more than this. */
const MUCH_BYTES = 48 * MIB;

/** So many collections of the whole heap within this time show that rows pass through it. */
const OFTEN = 4;
const OFTEN_MS = 1_500;
/** Without a collection for this long, the work is done. */
export const DONE_MS = 3_000;

/**
 * Decides how much the heap may grow until the next collection. A run that reads and merges many rows fills a heap that may
 * only grow by a quarter several times per second, and each collection visits all of the code in it. That took a third of
 * the run's CPU time.
 */
export class HeapGrowth {
  /** Times of the last collections, oldest first. */
  readonly #times: number[] = [];
  #isBusy = false;

  /**
   * Call after each collection of the whole heap.
   *
   * @param at milliseconds, monotonic
   * @param heapBytes of the objects that are left
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
