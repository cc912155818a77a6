import { MAX_REREADS } from '../../src/core/mirror.js';
import type { Extraction } from './extraction.js';
import type { Merged } from './merge-steps.js';

/** A merge, and whether the list shifted during its last read. */
interface SettledMerge {
  readonly merged: Merged;
  readonly shifted: boolean;
}

/**
 * Merges the staged rows, and rereads the list if it shifted (docs/explanation/guarantees.md#full-reads). A repeated key in
 * one chain of pages shows that records moved between pages. A cursor that counts records then skips some. A list in the
 * order of changes also repeats keys, but its cursor skips none. The reread tells the two apart: if it finds no row that
 * was missing, apart from rows that changed meanwhile, the cursor skips none and no further reread is needed.
 *
 * @param merge makes the merge with the given number
 */
export async function mergeSettled(
  extraction: Extraction,
  merge: (pass: number) => Promise<Merged>,
): Promise<SettledMerge> {
  // If the list visibly shifted, a merge now would be wasted.
  let merged = extraction.shifted ? null : await merge(0);
  if (merged !== null && merged.repeated === 0) return { merged, shifted: false };
  let hidesRows = false;
  for (let pass = 1; ; pass++) {
    await extraction.read('list');
    await extraction.read('catch-up');
    merged = await merge(pass);
    const isStable = merged.repeated === 0 && !extraction.shifted;
    hidesRows ||= merged.found > 0;
    if (isStable || !hidesRows) return { merged, shifted: false };
    if (pass === MAX_REREADS) return { merged, shifted: true };
  }
}
