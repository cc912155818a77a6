import { ApplicationFailure } from '@temporalio/activity';
import type { RunId } from '../../src/core/brands.js';
import type { FailureType, RunRef } from '../../src/core/contract/index.js';
import { parseRunDate } from '../../src/core/run-id.js';
import { readPointer } from '../../src/lake/documents/pointer.js';
import { isSameWriter } from '../../src/lake/run/fence.js';
import type { ActivityDeps } from './deps.js';
import { finalFailure } from './failures.js';
import { readRunIfThere } from './lake-staging.js';

/** The failure of a run that another mirror has displaced by publishing its own run. Its detail tells it from the fence's. */
export function displacedFailure({ resource, runId }: RunRef, to: RunId | null): ApplicationFailure {
  const what = to === null ? 'latest.json was removed' : `another mirror published run ${to}`;
  return finalFailure(
    'Displaced',
    `${resource}: ${what} while run ${runId} was in progress, so this run was not published. ` +
      'If this mirror is the one that should write to the lake, run `worktrack export --adopt`.',
    { isOvertaken: true },
  );
}

/** Failure types of a run whose objects the displacing mirror has removed. */
const SYMPTOMS: readonly (FailureType | null | undefined)[] = ['Lake', 'VerificationFailed'];

/**
 * Replaces a failure by `Displaced` if its cause is that another mirror published a run and removed what this run had
 * staged.
 */
export function reportDisplacement<Input extends RunRef, Output>(
  deps: ActivityDeps,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || !SYMPTOMS.includes(error.type as FailureType))
        throw error;
      // If this lookup fails as well, the original failure is the useful one.
      const winner = await findDisplacingRun(deps, input).catch(() => null);
      throw winner === null ? error : displacedFailure(input, winner);
    }
  };
}

/** Returns the run that another mirror published since this run began; `null` if there is none. */
async function findDisplacingRun(deps: ActivityDeps, ref: RunRef): Promise<RunId | null> {
  const { store } = deps.connection(ref.connection);
  const pointer = await readPointer(store, ref.resource);
  if (pointer === null) return null;
  const { runId, writer, publishedAt } = pointer;
  const run = await readRunIfThere(store, ref);
  // Without the run file, compare times: a mirror has one run at a time, so what was published since this run began
  // belongs to another mirror, even if that mirror's run began earlier.
  const before =
    run === null ? Date.parse(publishedAt) < parseRunDate(ref.runId) + 1000 : runId === run.before?.runId;
  const isOwn = runId === ref.runId || (run !== null && isSameWriter(run.writer, writer));
  const isOther = !before && !isOwn;
  return isOther ? runId : null;
}
