import type { ExtractResult, MirrorState, PreparedRun, PublishInput, RunRef } from '../contract/index.js';
import { sizeToTry } from '../page-size.js';
import { mergeSettled } from './merge-phase.js';
import type { Steps } from './phase-steps.js';
import { Reading } from './read-phase.js';
import { detectDeletes } from './settle-phase.js';

interface RunOptions {
  readonly prepared: PreparedRun;
  /** As in the mirror's state. */
  readonly pageSize: MirrorState['pageSize'];
  /** Whether to conclude any number of deletes. */
  readonly allowDeletes: boolean;
  readonly onRead?: (extracted: ExtractResult) => void;
  /** Called when everything is read that is known to be needed. */
  readonly onMerge?: () => void;
}

/** A run that can be published. */
interface ReadyRun {
  readonly publish: PublishInput;
  /** Page sizes in rows: the configured one and the one in use; `null` if the run does not show what the service accepts. */
  readonly pageSize: { readonly configured: number; readonly used: number } | null;
}

/**
 * The phases of a prepared run until it can be published: it reads the list, settles which records are deleted, and merges
 * (docs/explanation/how-it-works.md#one-run). They are the same for a run in memory and for one in the lake.
 *
 * @throws the failure of a step
 */
export async function runPhases(
  steps: Steps,
  ref: RunRef,
  { prepared, pageSize: known, allowDeletes, onRead, onMerge }: RunOptions,
): Promise<ReadyRun> {
  const { rollback, resumed, reconcile, pageSize: configured } = prepared;
  const staged = rollback ?? resumed?.extracted ?? null;
  const pageSize = sizeToTry(known, configured);
  const reading = new Reading(ref, steps, { staged, pageSize }, (extracted) => onRead?.(extracted));
  // The target of a rollback is staged already, and complete.
  if (rollback === null) await reading.read('list');
  const deletes = reconcile ? await detectDeletes(ref, prepared, { steps, allowDeletes }, reading) : null;
  // Resumed pages lack the changes since the earlier run. Delete detection has already read them.
  if (resumed !== null && !reconcile) await reading.read('catch-up');
  onMerge?.();
  const gone = deletes?.gone ?? null;
  const { merged, shifted } = await mergeSettled(ref, steps, reading, { gone, allowDeletes });
  const { plan, results } = merged;
  const unproven = deletes?.unproven ?? 0;
  // Resumed pages were read with an earlier page size, so they do not show whether the service accepts the new one.
  const wasTried = resumed === null && rollback === null;
  return {
    publish: {
      ...{ ...ref, stage: reading.stage, plan, results, shifted, unproven },
      ...(deletes === null ? {} : { deletesProblems: deletes.problems }),
    },
    pageSize: wasTried ? { configured, used: reading.pageSize } : null,
  };
}
