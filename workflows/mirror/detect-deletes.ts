import type { ObjectKey } from '../../src/core/brands.js';
import type { DeletesProblem, PreparedRun, RunRef } from '../../src/core/contract/index.js';
import type { Extraction, LongActivities } from './extraction.js';

/** Deletes among the records that the list no longer shows. */
export interface DetectedDeletes {
  /** The document with the keys of deleted records; `null`: none. */
  readonly gone: ObjectKey | null;
  /** Absent records whose deletion could be neither confirmed nor ruled out. */
  readonly unproven: number;
  /** Why deletes could not be concluded. */
  readonly problems: readonly DeletesProblem[];
}

interface Proxies {
  /** Activities that call the service. They end within `retries.giveUpAfter`. */
  readonly long: LongActivities;
  /** Activities that only use the lake. */
  readonly work: LongActivities;
}

/**
 * Detects which records of the snapshot the service has deleted (docs/explanation/guarantees.md#deletes). A list that shifts
 * under its cursor can hide a record, so a single absence proves nothing. Each pass is followed by a catch-up read. A
 * record that is absent after that is read by id, or must be absent from a second pass too. The second pass runs only if
 * the first one found absent records.
 *
 * @param allowDeletes whether to conclude deletes from an empty list, too
 */
export async function detectDeletes(
  ref: RunRef,
  { proof, hasWindow }: Pick<PreparedRun, 'proof' | 'hasWindow'>,
  { long, work, allowDeletes }: Proxies & { readonly allowDeletes: boolean },
  extraction: Extraction,
): Promise<DetectedDeletes> {
  const problems: DeletesProblem[] = [];
  const nothing = { gone: null, unproven: 0, problems };
  await extraction.read('catch-up');
  const first = { ...ref, stage: extraction.stage, sinceRead: 0, among: null, allowDeletes };
  if (extraction.isBlank) {
    // A proxy may have dropped the body of the list.
    const { count } = await work['worktrack.findAbsent']({ ...first, allowDeletes: true });
    if (count > 0) problems.push({ kind: 'empty-list', rows: count });
    return nothing;
  }
  const absent = await work['worktrack.findAbsent'](first);
  if (absent.problem) problems.push(absent.problem);
  if (absent.count === 0) return nothing;
  const isEmpty = absent.listIsEmpty === true && !allowDeletes;
  if (proof === 'by-id') {
    const { stage } = extraction;
    const asked = await long['worktrack.confirmDeletes']({ ...ref, among: absent.keys, stage, allowDeletes });
    const { keys, count, unproven, works } = asked;
    if (works) return { gone: count === 0 ? null : keys, unproven, problems };
    if (!isEmpty) problems.push({ kind: 'endpoint' });
    // Absence from a second pass cannot tell a deleted record from one that was moved out of the window.
    if (hasWindow && !isEmpty) return nothing;
  }
  if (isEmpty) problems.push({ kind: 'empty-list', rows: absent.count });
  if (isEmpty) return nothing;
  const sinceRead = await extraction.read('list');
  await extraction.read('catch-up');
  if (extraction.isBlank) return nothing;
  const { stage } = extraction;
  const second = { ...ref, stage, sinceRead, among: absent.keys, allowDeletes };
  const gone = await work['worktrack.findAbsent'](second);
  if (gone.listIsEmpty === true && !allowDeletes) {
    problems.push({ kind: 'empty-list', rows: gone.count });
    return nothing;
  }
  return { gone: gone.count === 0 ? null : gone.keys, unproven: 0, problems };
}
