import type { ByteString } from '../../core/brands.js';
import { isTombstone, payloadAt } from './row.js';

/** Whether two live rows of a key have different values. */
export function areTwins(a: ByteString, b: ByteString): boolean {
  return !isTombstone(a) && !isTombstone(b) && valuesOf(a) !== valuesOf(b);
}

/**
 * The row to keep next to the newest row of a key, so that a second reading can prove that the key is not unique
 * (docs/explanation/guarantees.md#key). Of the live rows with other values, it is the one whose values sort first. So two readings of the
 * same list keep the same row, however their rows are divided into chunks.
 *
 * @param replaced the other rows of its key
 * @returns its position in `replaced`; `null`: no row has other values
 */
export function twinOf(newest: ByteString, replaced: readonly ByteString[]): number | null {
  const known = isTombstone(newest) ? null : valuesOf(newest);
  let found: { readonly at: number; readonly values: string } | null = null;
  for (const [at, row] of replaced.entries()) {
    if (isTombstone(row)) continue;
    const values = valuesOf(row);
    if (values !== known && (found === null || values < found.values)) found = { at, values };
  }
  return found?.at ?? null;
}

/** The data cells of a row, as text. */
function valuesOf(row: ByteString): string {
  return row.slice(payloadAt(row));
}
