import type { MergeSource } from './source.js';
import { comesBefore } from './source.js';

/** Number of upcoming sources whose first blocks are requested early, to hide the latency of the store. */
export const READ_AHEAD = 3;

/** A binary heap of sources. The source with the smallest key is at the top. Exhausted sources are removed. */
export class SourceHeap {
  readonly #items: MergeSource[] = [];
  /** All sources, in the order in which they first reach the top. */
  readonly #inOrder: readonly MergeSource[];
  #reached = 0;
  #readAhead = 0;

  constructor(sources: readonly MergeSource[]) {
    for (const source of sources) if (source.key !== null) this.#items.push(source);
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#sink(at);
    this.#inOrder = [...this.#items].sort((a, b) => (comesBefore(a, b) ? -1 : 1));
    this.#prefetch();
  }

  get top(): MergeSource | undefined {
    return this.#items[0];
  }

  /** The source with the second smallest key. */
  get second(): MergeSource | undefined {
    const [, left, right] = this.#items;
    if (left === undefined || right === undefined) return left;
    return comesBefore(right, left) ? right : left;
  }

  /** Restores the heap order. Call it after the key of the top has changed. */
  updateTop(): void {
    if (this.#items[0]?.key === null) {
      const last = this.#items.pop();
      if (last === undefined || this.#items.length === 0) return;
      this.#items[0] = last;
    }
    this.#sink(0);
    this.#prefetch();
  }

  #prefetch(): void {
    while (this.top !== undefined && this.#inOrder[this.#reached] === this.top) this.#reached++;
    while (this.#readAhead < Math.min(this.#reached + READ_AHEAD, this.#inOrder.length)) {
      this.#inOrder[this.#readAhead++]!.prefetch();
    }
  }

  #sink(from: number): void {
    const items = this.#items;
    let at = from;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let first = at;
      if (left < items.length && comesBefore(items[left]!, items[first]!)) first = left;
      if (right < items.length && comesBefore(items[right]!, items[first]!)) first = right;
      if (first === at) return;
      [items[at], items[first]] = [items[first]!, items[at]!];
      at = first;
    }
  }
}
