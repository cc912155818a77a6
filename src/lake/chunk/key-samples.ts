import { byKey, lowerBound } from '../merge/keys.js';
import { detached, type SortKey } from '../rows/row.js';

/** Number of keys that are kept of each chunk. */
const SAMPLED = 64;

/** A sample of the keys of chunks, which shows how a merge will interleave their rows. */
export class KeySamples {
  #sorted: SortKey[] = [];

  /**
   * Adds a chunk and returns the share of its rows that a merge will interleave with those of earlier chunks: near 0 for a list
   * in the order of the key, ascending or descending, or in an order that is close to it, such as that of the last change.
   * `null` for the first chunk. It is an estimate.
   *
   * @param keys of the rows, in any order
   */
  add(keys: readonly SortKey[]): number | null {
    const earlier = this.#sorted;
    const step = Math.max(1, keys.length / SAMPLED);
    const own: SortKey[] = [];
    for (let at = 0; at < keys.length; at += step) own.push(detached(keys[Math.floor(at)]!));
    own.sort(byKey);
    this.#sorted = [...earlier, ...own].sort(byKey);
    if (earlier.length === 0) return null;
    const gaps = Math.max(1, own.length - 1);
    let mixed = 0;
    for (let gap = 0; gap < gaps; gap++) {
      const next = earlier[lowerBound(earlier, own[gap]!)];
      if (next !== undefined && next <= (own[gap + 1] ?? own[gap]!)) mixed++;
    }
    return mixed / gaps;
  }
}
