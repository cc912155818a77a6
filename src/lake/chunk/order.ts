import { CODE_WIDTH, CODES, commonPrefix, keyCode } from '../rows/key-code.js';
import type { SortKey } from '../rows/row.js';

/** The positions of keys, sorted by key; equal keys keep their order. */
export interface KeyOrder {
  readonly order: Uint32Array;
  /** Whether some keys are equal. */
  readonly repeats: boolean;
}

/** The most keys that are sorted by their codes: a code and a position fit into the 53 bits of a number. */
const MAX_SORTED = 2 ** 20;
/** So few keys are sorted by comparing them, one by one. */
const FEW = 12;

/**
 * Sorts keys as `<` does: by the codes of the characters after their common prefix, and then only keys with equal codes by
 * those of the next characters.
 */
export function orderOf(keys: readonly SortKey[]): KeyOrder {
  const order = new Uint32Array(keys.length);
  for (let at = 0; at < order.length; at++) order[at] = at;
  // A stack instead of recursion, because keys can have a long common prefix.
  const left: { readonly from: number; readonly to: number; readonly at: number }[] = [];
  let repeats = false;
  for (let next = { from: 0, to: keys.length, at: 0 }; ; next = left.pop()!) {
    const { from, to } = next;
    if (to - from <= FEW || to - from > MAX_SORTED) {
      if (sortByComparing(keys, order, next)) repeats = true;
    } else {
      const at = prefixOf(keys, order, next);
      const codes = sortByCode(keys, order, { from, to, at });
      for (let start = 0; start < codes.length; ) {
        const code = codes[start]!;
        let end = start + 1;
        while (end < codes.length && codes[end] === code) end++;
        if (end - start > 1) {
          // Keys that end here are equal.
          if (code % CODES === 0) repeats = true;
          else left.push({ from: from + start, to: from + end, at: at + CODE_WIDTH });
        }
        start = end;
      }
    }
    if (left.length === 0) return { order, repeats };
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
  /** The characters before this one are the same in all keys. */
  readonly at: number;
}

/** Number of characters that all keys of a range have in common. */
function prefixOf(keys: readonly SortKey[], order: Uint32Array, { from, to, at }: Range): number {
  const first = keys[order[from]!]!;
  let length = first.length;
  for (let next = from + 1; next < to && length > at; next++) {
    length = Math.min(length, commonPrefix(first, keys[order[next]!]!, at));
  }
  return length;
}

/** Sorts a range by the characters from `at`. Returns the codes of these characters, sorted. */
function sortByCode(keys: readonly SortKey[], order: Uint32Array, { from, to, at }: Range): Float64Array {
  const before = order.slice(from, to);
  const codes = new Float64Array(before.length);
  for (let next = 0; next < before.length; next++) {
    codes[next] = keyCode(keys[before[next]!]!, at) * MAX_SORTED + next;
  }
  codes.sort();
  for (let next = 0; next < codes.length; next++) {
    const code = Math.floor(codes[next]! / MAX_SORTED);
    order[from + next] = before[codes[next]! - code * MAX_SORTED]!;
    codes[next] = code;
  }
  return codes;
}

/** Sorts a range by comparing its keys. Returns whether some are equal. */
function sortByComparing(keys: readonly SortKey[], order: Uint32Array, { from, to }: Range): boolean {
  const compare = (a: number, b: number): number =>
    keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b;
  const range = order.subarray(from, to);
  if (range.length > FEW) range.sort(compare);
  else insertionSort(range, compare);
  return range.some((at, next) => next > 0 && keys[at] === keys[range[next - 1]!]);
}

function insertionSort(range: Uint32Array, compare: (a: number, b: number) => number): void {
  for (let next = 1; next < range.length; next++) {
    const moved = range[next]!;
    let at = next;
    for (; at > 0 && compare(range[at - 1]!, moved) > 0; at--) range[at] = range[at - 1]!;
    range[at] = moved;
  }
}
