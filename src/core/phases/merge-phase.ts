import type { ObjectKey } from '../brands.js';
import type { RunRef, ShiftSigns } from '../contract/index.js';
import { inParallel } from '../in-parallel.js';
import { MAX_REREADS } from '../mirror-requests.js';
import type { Steps } from './phase-steps.js';
import type { Reading } from './read-phase.js';

/** Concurrent merge activities of one run, over all workers. Each keeps two cores busy and uses about 50 MiB. */
const MERGES_AT_ONCE = 2;

/** What each merge of a run has in common. */
interface MergeInput {
  /** Keys of records whose deletion is confirmed. */
  readonly gone: ObjectKey | null;
  readonly allowDeletes: boolean;
}

/** A finished merge that can be published. */
interface Merged extends ShiftSigns {
  readonly plan: ObjectKey;
  readonly results: readonly ObjectKey[];
}

/** A merge, and whether the list shifted during its last read. */
export interface SettledMerge {
  readonly merged: Merged;
  readonly shifted: boolean;
}

/**
 * The phase that merges the staged rows, and rereads the list if it shifted (docs/explanation/guarantees.md#full-reads). A
 * repeated key in one chain of pages shows that records moved between pages. A cursor that counts records then skips some. A
 * list in the order of changes also repeats keys, but its cursor skips none. The reread tells the two apart: if it finds no
 * row that was missing, apart from rows that changed meanwhile, the cursor skips none and no further reread is needed.
 */
export async function mergeSettled(
  ref: RunRef,
  steps: Steps,
  reading: Reading,
  input: MergeInput,
): Promise<SettledMerge> {
  const merge = (pass: number): Promise<Merged> => mergeOnce(ref, steps, reading, { ...input, pass });
  // If the list visibly shifted, a merge now would be wasted.
  let merged = reading.shifted ? null : await merge(0);
  if (merged !== null && merged.repeated === 0) return { merged, shifted: false };
  let hidesRows = false;
  for (let pass = 1; ; pass++) {
    await reading.read('list');
    await reading.read('catch-up');
    merged = await merge(pass);
    const isStable = merged.repeated === 0 && !reading.shifted;
    hidesRows ||= merged.found > 0;
    if (isStable || !hidesRows) return { merged, shifted: false };
    if (pass === MAX_REREADS) return { merged, shifted: true };
  }
}

/** Merges the staged rows of a run with the previous snapshot. @param pass number of the merge within the run, from 0 */
async function mergeOnce(
  ref: RunRef,
  steps: Steps,
  { stage, rows }: Reading,
  { pass, ...input }: MergeInput & { readonly pass: number },
): Promise<Merged> {
  const again = pass === 0 ? '' : `, merge ${pass + 1}`;
  const planned = await steps.planMerge({ ...ref, ...input, stage, pass }, `${rows} rows${again}`);
  const { plan, batches, repeated } = planned;
  const numbers = Array.from({ length: batches }, (_, batch) => batch);
  const merged = await inParallel(numbers, MERGES_AT_ONCE, (batch) =>
    steps.mergeParts({ ...ref, plan, pass, batch }, `${batch + 1} of ${batches}${again}`),
  );
  return {
    plan,
    results: merged.map(({ result }) => result),
    repeated: merged.reduce((sum, part) => sum + part.repeated, repeated),
    found: merged.reduce((sum, part) => sum + part.found, 0),
  };
}
