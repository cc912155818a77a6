import type { ObjectKey } from '../brands.js';
import type { DeletesProblem, PreparedRun, RunRef } from '../contract/index.js';
import type { Steps } from './phase-steps.js';
import type { Reading } from './read-phase.js';

/** Deletes among the records that the list no longer shows. */
export interface DetectedDeletes {
  /** The document with the keys of deleted records; `null`: none. */
  readonly gone: ObjectKey | null;
  /** Absent records whose deletion could be neither confirmed nor ruled out. */
  readonly unproven: number;
  /** Why deletes could not be concluded. */
  readonly problems: readonly DeletesProblem[];
}

/**
 * The phase that settles which records of the snapshot the service has deleted (docs/explanation/guarantees.md#deletes). A
 * list that shifts under its cursor can hide a record, so a single absence proves nothing. Each pass is followed by a catch-up read. A
 * record that is absent after that is read by id, or must be absent from a second pass too. The second pass runs only if
 * the first one found absent records.
 *
 * @param allowDeletes whether to conclude deletes from an empty list, too
 */
export async function detectDeletes(
  ref: RunRef,
  { proof, hasWindow }: Pick<PreparedRun, 'proof' | 'hasWindow'>,
  { steps, allowDeletes }: { readonly steps: Steps; readonly allowDeletes: boolean },
  reading: Reading,
): Promise<DetectedDeletes> {
  const problems: DeletesProblem[] = [];
  const nothing = { gone: null, unproven: 0, problems };
  await reading.read('catch-up');
  const first = { ...ref, stage: reading.stage, sinceRead: 0, among: null, allowDeletes };
  if (reading.isBlank) {
    // A proxy may have dropped the body of the list.
    const { count } = await steps.findAbsent({ ...first, allowDeletes: true });
    if (count > 0) problems.push({ kind: 'empty-list', rows: count });
    return nothing;
  }
  const absent = await steps.findAbsent(first);
  if (absent.problem) problems.push(absent.problem);
  if (absent.count === 0) return nothing;
  const isEmpty = absent.listIsEmpty === true && !allowDeletes;
  if (proof === 'by-id') {
    const { stage } = reading;
    const asked = await steps.confirmDeletes({ ...ref, among: absent.keys, stage, allowDeletes });
    const { keys, count, unproven, works } = asked;
    if (works) return { gone: count === 0 ? null : keys, unproven, problems };
    if (!isEmpty) problems.push({ kind: 'endpoint' });
    // Absence from a second pass cannot tell a deleted record from one that was moved out of the window.
    if (hasWindow && !isEmpty) return nothing;
  }
  if (isEmpty) problems.push({ kind: 'empty-list', rows: absent.count });
  if (isEmpty) return nothing;
  const sinceRead = await reading.read('list');
  await reading.read('catch-up');
  if (reading.isBlank) return nothing;
  const { stage } = reading;
  const second = { ...ref, stage, sinceRead, among: absent.keys, allowDeletes };
  const gone = await steps.findAbsent(second);
  if (gone.listIsEmpty === true && !allowDeletes) {
    problems.push({ kind: 'empty-list', rows: gone.count });
    return nothing;
  }
  return { gone: gone.count === 0 ? null : gone.keys, unproven: 0, problems };
}
