import type { PhaseEnded, PhaseName, PhaseRef, RunEnded } from '../core/contract/index.js';
import { withHeartbeat } from './activity-context.js';
import { mergeParts } from './merge/merge-parts.js';
import { planMerge } from './merge/plan-merge.js';
import { afterMerge } from './merge/rereads.js';
import { stageTarget } from './prepare/rollback.js';
import { auditRun } from './preview/audit-run.js';
import { saveUse } from './preview/dry-staging.js';
import { previewRun } from './preview/preview-run.js';
import { publishRun } from './publish/publish-run.js';
import { readPages } from './read/read-pages.js';
import { nextOf, toNextPhase } from './run-journal.js';
import { confirmDeletes } from './settle/confirm-deletes.js';
import { findAbsentRecords } from './settle/find-absent.js';
import { type Merged, type RunAt, readMerged } from './staging.js';

/** Carries out a phase of a run, once: if it has ended before, what follows it is in the journal. */
export async function performPhase(at: RunAt, phase: PhaseName, ref: PhaseRef): Promise<PhaseEnded> {
  const journal = await at.staging.journal();
  // Whether the pointer was swapped, the pointer says.
  const isOver = journal.sequence > ref.step && !(journal.isSwapSent && phase === 'publish');
  return isOver ? toNextPhase(journal) : PHASES[phase](at, ref);
}

type Perform = (at: RunAt, ref: PhaseRef) => Promise<PhaseEnded>;

const PHASES: Readonly<Record<PhaseName, Perform>> = {
  read: asking(async (at) => {
    if (nextOf(await at.staging.journal(), 'read').kind !== 'target') return readPages(at);
    return withHeartbeat(() => stageTarget(at.staging));
  }),
  settle: findAbsentRecords,
  settleById: asking(confirmDeletes),
  mergePlan: planMerge,
  merge: mergeParts,
  publish: ending(publishRun),
  preview: ending(async (at, merged, shifted) => {
    const end = merged.journal.run.audit === undefined ? previewRun : auditRun;
    return { kind: 'previewed', run: await end(at, merged, shifted) };
  }),
};

/** A phase that asks the service: a dry run in the lake notes what it has used. */
function asking(perform: (at: RunAt) => Promise<PhaseEnded>): Perform {
  return async (at) => {
    const { run } = await at.staging.journal();
    const ended = await perform(at);
    if (run.dryRun !== undefined && !at.staging.isPrivate) await saveUse(at.staging);
    return ended;
  };
}

/** The last phase of a run, unless its merges show that the list has to be read once more. */
function ending(end: (at: RunAt, merged: Merged, shifted: boolean) => Promise<RunEnded>): Perform {
  return async (at, ref) => {
    const merged = await readMerged(at.staging, ref);
    const after = afterMerge(merged);
    return 'shifted' in after ? end(at, merged, after.shifted) : toNextPhase(await at.staging.decide(after));
  };
}
