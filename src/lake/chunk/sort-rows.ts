import type { SortKey } from '../rows/row.js';
import type { RowBuffer } from './row-buffer.js';

/** Rows in the order of their keys. Rows with the same key are in the order of the buffer. */
export interface SortedRows {
  readonly buffer: RowBuffer;
  /** Positions in the buffer. */
  readonly order: Uint32Array;
  readonly first: SortKey;
  readonly last: SortKey;
  /** Whether the rows at two positions have the same key. */
  isSame(a: number, b: number): boolean;
}

/** Bytes of a key that its code contains. */
const CODE_WIDTH = 6;
/** A byte of a key plus one, and 0 for its end. */
const CODES = 257;

/**
 * Sorts the rows of a buffer by key, as bytes. Most comparisons are of two numbers: the bytes that follow what all keys begin
 * with. A merge sort, which keeps the order of equal keys and needs no values in the JavaScript heap.
 *
 * @param buffer with at least one row
 */
export function sortRows(buffer: RowBuffer): SortedRows {
  const { rows, ascending } = buffer;
  let order: Uint32Array = new Uint32Array(rows).map((_, at) => at);
  const isSame = (a: number, b: number): boolean => compareKeys(buffer, a, b, 0) === 0;
  if (!ascending) {
    const same = commonStart(buffer);
    const codes = new Float64Array(rows).map((_, at) => codeOf(buffer, at, same));
    const isAfter = (a: number, b: number): boolean => {
      const difference = codes[a]! - codes[b]!;
      return difference === 0 ? compareKeys(buffer, a, b, same) > 0 : difference > 0;
    };
    order = mergeSort(order, isAfter);
  }
  return { buffer, order, first: buffer.key(order[0]!), last: buffer.key(order[rows - 1]!), isSame };
}

/** Compares two keys, whose bytes before `same` are the same. Negative: the first one comes first. */
function compareKeys(buffer: RowBuffer, a: number, b: number, same: number): number {
  const bytes = buffer.keyBytes;
  const [startA, endA] = [buffer.keyOffset(a), buffer.keyOffset(a + 1)];
  const [startB, endB] = [buffer.keyOffset(b), buffer.keyOffset(b + 1)];
  const end = Math.min(endA - startA, endB - startB);
  for (let at = same; at < end; at++) {
    const difference = bytes[startA + at]! - bytes[startB + at]!;
    if (difference !== 0) return difference;
  }
  return endA - startA - (endB - startB);
}

/** Number of first bytes that all keys have in common. */
function commonStart(buffer: RowBuffer): number {
  const bytes = buffer.keyBytes;
  let same = buffer.keyOffset(1);
  for (let row = 1; row < buffer.rows && same > 0; row++) {
    const from = buffer.keyOffset(row);
    const most = Math.min(same, buffer.keyOffset(row + 1) - from);
    same = 0;
    while (same < most && bytes[same] === bytes[from + same]) same++;
  }
  return same;
}

/** The bytes of a key from `same` as a number. Equal codes leave the order open. */
function codeOf(buffer: RowBuffer, row: number, same: number): number {
  const bytes = buffer.keyBytes;
  const from = buffer.keyOffset(row) + same;
  const end = buffer.keyOffset(row + 1);
  let code = 0;
  for (let at = from; at < from + CODE_WIDTH; at++) code = code * CODES + (at < end ? bytes[at]! + 1 : 0);
  return code;
}

/** A merge sort from the bottom up. Runs that are in order already are only copied. */
function mergeSort(order: Uint32Array, isAfter: (a: number, b: number) => boolean): Uint32Array {
  const { length } = order;
  let from = order;
  let to: Uint32Array = new Uint32Array(length);
  for (let width = 1; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(start + 2 * width, length);
      if (middle === end || !isAfter(from[middle - 1]!, from[middle]!)) {
        for (let at = start; at < end; at++) to[at] = from[at]!;
        continue;
      }
      let [left, right] = [start, middle];
      for (let at = start; at < end; at++) {
        const takesRight = left === middle || (right < end && isAfter(from[left]!, from[right]!));
        to[at] = takesRight ? from[right++]! : from[left++]!;
      }
    }
    [from, to] = [to, from];
  }
  return from;
}
