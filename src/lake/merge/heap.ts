import type { MergeSource } from './source.js';
import { comesBefore } from './source.js';

/** A binary heap of sources: the one whose row comes next is at the top. Sources at their end leave it. */
export class SourceHeap {
  readonly #items: MergeSource[] = [];

  constructor(sources: readonly MergeSource[]) {
    for (const source of sources) if (source.key !== null) this.#items.push(source);
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  get top(): MergeSource | undefined {
    return this.#items[0];
  }

  /** The one that would be at the top without the top. */
  get second(): MergeSource | undefined {
    const [, left, right] = this.#items;
    if (left === undefined || right === undefined) return left;
    return comesBefore(right, left) ? right : left;
  }

  /** To be called when the top's key has changed. */
  settle(): void {
    if (this.#items[0]?.key === null) {
      const last = this.#items.pop();
      if (last === undefined || this.#items.length === 0) return;
      this.#items[0] = last;
    }
    this.#sink(0);
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
