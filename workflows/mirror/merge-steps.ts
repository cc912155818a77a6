import type { ObjectKey } from '../../src/core/brands.js';
import type { RunRef, ShiftSigns } from '../../src/core/contract/index.js';
import { inParallel } from '../../src/core/in-parallel.js';
import type { LongActivities } from './extraction.js';

/** Concurrent merge activities of one run, over all workers. Each keeps two cores busy and uses about 50 MiB. */
const MERGES_AT_ONCE = 2;

/** Input of one merge. */
interface MergeInput {
  /** Number of the merge within the run, from 0. */
  readonly pass: number;
  readonly stage: ObjectKey;
  /** Keys of records whose deletion is confirmed. */
  readonly gone: ObjectKey | null;
  readonly allowDeletes: boolean;
}

/** A finished merge that can be published. */
export interface Merged extends ShiftSigns {
  readonly plan: ObjectKey;
  readonly results: readonly ObjectKey[];
}

/** Merges the staged rows of a run with the previous snapshot. */
export async function mergeStaged(ref: RunRef, work: LongActivities, input: MergeInput): Promise<Merged> {
  const { pass } = input;
  const { plan, batches, repeated } = await work['worktrack.planMerge']({ ...ref, ...input });
  const numbers = Array.from({ length: batches }, (_, batch) => batch);
  const merged = await inParallel(numbers, MERGES_AT_ONCE, (batch) =>
    work['worktrack.mergeParts'].executeWithOptions(
      { summary: `${ref.resource}: ${batch + 1} of ${batches}${pass === 0 ? '' : `, merge ${pass + 1}`}` },
      [{ ...ref, plan, pass, batch }],
    ),
  );
  return {
    plan,
    results: merged.map(({ result }) => result),
    repeated: merged.reduce((sum, part) => sum + part.repeated, repeated),
    found: merged.reduce((sum, part) => sum + part.found, 0),
  };
}
