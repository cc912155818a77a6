import type { MergeSource } from './source.js';
import { comesBefore } from './source.js';

/** Sources that have the beginning of what they hold on its way before it is their turn: a store takes its time. */
export const READ_AHEAD = 3;

/** A binary heap of sources: the one whose row comes next is at the top. Sources at their end leave it. */
export class SourceHeap {
  readonly #items: MergeSource[] = [];
  /** In the order in which they come to the top for the first time. */
  readonly #coming: readonly MergeSource[];
  #came = 0;
  #readAhead = 0;

  constructor(sources: readonly MergeSource[]) {
    for (const source of sources) if (source.key !== null) this.#items.push(source);
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#sink(at);
    this.#coming = [...this.#items].sort((a, b) => (comesBefore(a, b) ? -1 : 1));
    this.#prefetch();
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
    this.#prefetch();
  }

  #prefetch(): void {
    while (this.top !== undefined && this.#coming[this.#came] === this.top) this.#came++;
    while (this.#readAhead < Math.min(this.#came + READ_AHEAD, this.#coming.length)) {
      this.#coming[this.#readAhead++]!.prefetch();
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
