import { MAX_REREADS } from '../../core/mirror-requests.js';
import { endOfList, type Stage } from '../../lake/documents/stage-file.js';
import type { Decided, Journal, Phase } from '../run-journal.js';
import type { Merged } from '../staging.js';

/** Whether the last reading of the list shows signs that the list has shifted. Some signs show only in the merge. */
export function hasShifted(stages: readonly Stage[]): boolean {
  return endOfList(stages).shifted;
}

/**
 * What follows a merge (docs/explanation/guarantees.md#full-reads). A repeated key in one chain of pages shows that records moved
 * between pages. A cursor that counts records then skips some. A list in the order of changes also repeats keys, but its cursor
 * skips none. A reread tells the two apart: if it finds no row that was missing, apart from rows that changed meanwhile, the cursor
 * skips none and no further reread is needed.
 *
 * @returns the reread; or whether the list has also shifted during the last one, so that rows may be missing
 */
export function afterMerge({
  journal,
  stages,
  plan,
  results,
}: Merged): Decided | { readonly shifted: boolean } {
  const { rereads } = journal;
  const sum = (of: (result: (typeof results)[number]) => number): number =>
    results.reduce((total, result) => total + of(result), 0);
  const repeated = plan.repeated + sum((result) => result.repeated);
  const open = sum(({ tasks }) => tasks.reduce((total, { audit }) => total + (audit?.open ?? 0), 0));
  const isStable = repeated === 0 && !hasShifted(stages);
  const hidesRows = rereads > 0 && (journal.hidesRows || sum((result) => result.found) > 0);
  // The first merge cannot tell.
  const shifted = !isStable && (hidesRows || rereads === 0);
  if ((shifted || open > 0) && rereads < MAX_REREADS) return { ...reread(journal), hidesRows };
  return { shifted };
}

/** Reads the list once more, and merges again. An audit reads everything again; a sample is read by id. */
export function reread(journal: Journal): Decided {
  const { run, reading, rereads, ahead } = journal;
  const { audit, reconcile } = run;
  const isSample = audit?.sample !== undefined;
  const phases: (Phase | false)[] = [
    !isSample && { do: 'read', kind: 'list' },
    { do: 'read', kind: 'catch-up' },
    audit !== undefined && reconcile && { do: 'settle', since: isSample ? 0 : reading, pass: 'first' },
    ...[{ do: 'mergePlan' } as const, { do: 'merge' } as const],
  ];
  return { rereads: rereads + 1, ahead: [...phases.filter((phase) => phase !== false), ahead.at(-1)!] };
}
