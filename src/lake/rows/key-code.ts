import type { SortKey } from './row.js';

/** Characters of a key that its code contains. */
export const CODE_WIDTH = 4;
/** A character of a key and its end: a byte plus one, and 0. */
export const CODES = 257;

/**
 * The characters of a key from `at` as a number. Keys with the same characters before `at` are in the order of their codes;
 * equal codes leave the order open. Comparing two strings costs much more than comparing two numbers.
 */
export function keyCode(key: SortKey, at: number): number {
  let code = 0;
  for (let next = at; next < at + CODE_WIDTH; next++) {
    code = code * CODES + (next < key.length ? key.charCodeAt(next) + 1 : 0);
  }
  return code;
}

/**
 * Number of characters that two keys, and therefore all keys between them, have in common.
 *
 * @param from their first characters are known to be the same up to this position
 */
export function commonPrefix(a: SortKey, b: SortKey, from = 0): number {
  let same = from;
  while (same < a.length && same < b.length && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  return same;
}
