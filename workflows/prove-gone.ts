import type { ObjectKey } from '../src/core/brands.js';
import type { RunBegun, RunRef } from '../src/core/contract.js';
import type { Extraction, LongActivities } from './extraction.js';

/**
 * Which records of the snapshot the service no longer has (DESIGN 3.5). A list that shifts under its cursor can
 * hide a record, so one absence proves nothing: each pass is followed by a catch-up read, and what is absent then
 * is asked for by id, or must be absent from a second pass too, which is made only if there is something to prove.
 *
 * @returns the document with the keys; `null` for none
 */
export async function proveGone(
  ref: RunRef,
  begun: RunBegun,
  activities: LongActivities,
  extraction: Extraction,
): Promise<ObjectKey | null> {
  await extraction.read('catch-up');
  const absent = await activities['worktrack.findAbsent']({
    ...ref,
    stage: extraction.stage,
    sinceRead: 0,
    among: null,
  });
  if (absent.count === 0) return null;
  if (begun.proof === 'by-id') {
    const gone = await activities['worktrack.confirmGone']({ ...ref, among: absent.keys });
    return gone.count === 0 ? null : gone.keys;
  }
  const sinceRead = await extraction.read('list');
  await extraction.read('catch-up');
  const { stage } = extraction;
  const gone = await activities['worktrack.findAbsent']({ ...ref, stage, sinceRead, among: absent.keys });
  return gone.count === 0 ? null : gone.keys;
}
