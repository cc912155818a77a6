import { inParallel } from '../../core/in-parallel.js';
import { commonPrefix } from '../rows/key-code.js';
import { byKey } from './keys.js';
import type { MergeSource } from './source.js';
import { comesBefore } from './source.js';

const STARTED_AT_ONCE = 16;

/** A binary heap of sources. The source with the smallest key is at the top. Exhausted sources are removed. */
export class SourceHeap {
  readonly #items: MergeSource[];

  private constructor(sources: readonly MergeSource[]) {
    this.#items = sources.filter((source) => source.key !== null);
    this.#useCodes();
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  /** Makes the sources compare the characters that are not the same in all keys. */
  #useCodes(): void {
    const first = this.#items.map(({ key }) => key!).sort(byKey)[0];
    const last = this.#items
      .map((source) => source.last!)
      .sort(byKey)
      .at(-1);
    if (first === undefined || last === undefined) return;
    for (const source of this.#items) source.codeFrom(commonPrefix(first, last));
  }

  /** Moves each source to its first key. */
  static async start(sources: readonly MergeSource[]): Promise<SourceHeap> {
    await inParallel(sources, STARTED_AT_ONCE, (source) => source.start());
    return new SourceHeap(sources);
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
