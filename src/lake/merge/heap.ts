import { inParallel } from '../../core/in-parallel.js';
import { commonPrefix, keyCode } from '../rows/key-code.js';
import { byKey } from './keys.js';
import type { MergeSource } from './source.js';

const STARTED_AT_ONCE = 16;

interface Item {
  readonly source: MergeSource;
  /** The code of the source's key. It is compared first. */
  code: number;
}

/** A binary heap of sources. The source with the smallest key is at the top. Exhausted sources are removed. */
export class SourceHeap {
  readonly #items: Item[];
  /** Number of first characters that are the same in all keys. Codes are made of those after them. */
  readonly #same: number;

  private constructor(sources: readonly MergeSource[]) {
    const left = sources.filter((source) => source.key !== null);
    const first = left.map(({ key }) => key!).sort(byKey)[0];
    const last = left
      .map((source) => source.last!)
      .sort(byKey)
      .at(-1);
    this.#same = first === undefined || last === undefined ? 0 : commonPrefix(first, last);
    this.#items = left.map((source) => ({ source, code: keyCode(source.key!, this.#same) }));
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  /** Moves each source to its first key, and returns the heap. */
  static async start(sources: readonly MergeSource[]): Promise<SourceHeap> {
    await inParallel(sources, STARTED_AT_ONCE, (source) => source.start());
    return new SourceHeap(sources);
  }

  get top(): MergeSource | undefined {
    return this.#items[0]?.source;
  }

  /** The source with the second smallest key. */
  get second(): MergeSource | undefined {
    const [, left, right] = this.#items;
    if (left === undefined || right === undefined) return left?.source;
    return comesBefore(right, left) ? right.source : left.source;
  }

  /** Restores the heap order. Call it after the key of the top has changed. */
  updateTop(): void {
    const [top] = this.#items;
    if (top === undefined) return;
    if (top.source.key !== null) {
      top.code = keyCode(top.source.key, this.#same);
    } else {
      const last = this.#items.pop()!;
      if (this.#items.length === 0) return;
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

/** Whether `a` comes before `b`: by next key, then the older source first. */
function comesBefore(a: Item, b: Item): boolean {
  if (a.code !== b.code) return a.code < b.code;
  const [keyA, keyB] = [a.source.key!, b.source.key!];
  return keyA < keyB || (keyA === keyB && a.source.age < b.source.age);
}
