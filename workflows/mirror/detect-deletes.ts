import type { ObjectKey } from '../../src/core/brands.js';
import type { PreparedRun, RunRef } from '../../src/core/contract/index.js';
import type { Extraction, LongActivities } from './extraction.js';

/** Deletes among the records that the list no longer shows. */
interface DetectedDeletes {
  /** The document with the keys of deleted records; `null`: none. */
  readonly gone: ObjectKey | null;
  /** Absent records whose deletion could be neither confirmed nor ruled out. */
  readonly unproven: number;
}

interface Proxies {
  /** Activities that call the service. They end within `retries.giveUpAfter`. */
  readonly long: LongActivities;
  /** Activities that only use the lake. */
  readonly work: LongActivities;
}

/**
 * Detects which records of the snapshot the service has deleted (docs/explanation/semantics.md#deletes). A list that shifts
 * under its cursor can hide a record, so a single absence proves nothing. Each pass is followed by a catch-up read. A
 * record that is absent after that is read by id, or must be absent from a second pass too. The second pass runs only if
 * the first one found absent records.
 */
export async function detectDeletes(
  ref: RunRef,
  prepared: PreparedRun,
  { long, work }: Proxies,
  extraction: Extraction,
): Promise<DetectedDeletes> {
  await extraction.read('catch-up');
  // A proxy may have dropped the body of the list.
  if (extraction.isBlank) return { gone: null, unproven: 0 };
  const absent = await work['worktrack.findAbsent']({
    ...ref,
    stage: extraction.stage,
    sinceRead: 0,
    among: null,
  });
  if (absent.count === 0) return { gone: null, unproven: 0 };
  if (prepared.proof === 'by-id') {
    const { keys, count, unproven } = await long['worktrack.confirmDeletes']({ ...ref, among: absent.keys });
    return { gone: count === 0 ? null : keys, unproven };
  }
  const sinceRead = await extraction.read('list');
  await extraction.read('catch-up');
  const { stage } = extraction;
  const gone = await work['worktrack.findAbsent']({ ...ref, stage, sinceRead, among: absent.keys });
  return { gone: gone.count === 0 ? null : gone.keys, unproven: 0 };
}
