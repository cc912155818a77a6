import { ApplicationFailure } from '@temporalio/activity';
import type { RunId } from '../src/core/brands.js';
import type { FailureType, RunRef } from '../src/core/contract.js';
import { pointerKey } from '../src/lake/layout.js';
import { decodePointer } from '../src/lake/pointer.js';
import { beganAfter } from '../src/lake/run-id.js';
import type { ActivityDeps } from './deps.js';
import { readRunIfThere } from './documents.js';
import { finalFailure } from './failures.js';

/** The failure of a run in whose place another mirror's was published. */
export function displaced({ resource, runId }: RunRef, to: RunId): ApplicationFailure {
  return finalFailure(
    'Displaced',
    `${resource}: while run ${runId} was under way, ${to} was published in its place by another mirror; ` +
      'nothing of this run is visible. If this mirror is the right one, take over with `worktrack export --adopt`.',
  );
}

/** What a run meets with whose objects the winner of a race has cleared away. */
const TRACES: readonly (FailureType | null | undefined)[] = ['Lake', 'NotAddingUp'];

/** Says so when a run fails because another mirror has won and removed what this one had staged. */
export function noticingWinner<Input extends RunRef, Output>(
  deps: ActivityDeps,
  activity: (input: Input) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return async (input) => {
    try {
      return await activity(input);
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || !TRACES.includes(error.type as FailureType)) throw error;
      // The trouble that there was says more than the one of looking for its cause.
      const winner = await winnerOver(deps, input).catch(() => null);
      throw winner === null ? error : displaced(input, winner);
    }
  };
}

/** The run that was published since this one began, if any. */
async function winnerOver(deps: ActivityDeps, ref: RunRef): Promise<RunId | null> {
  const { store } = deps.connection(ref.connection);
  const found = await store.readIfExists(pointerKey(ref.resource));
  if (found === null) return null;
  const { runId } = decodePointer(found.body);
  const run = await readRunIfThere(store, ref);
  // Without the run file: a mirror makes one run at a time, so one that began later is another's.
  const before = run === null ? beganAfter(ref.runId, runId) : runId === run.before?.runId;
  const isOther = !before && runId !== ref.runId;
  return isOther ? runId : null;
}
