import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type {
  ActiveRun,
  Activities,
  DiscardRunInput,
  MirrorState,
  RollbackRequest,
  RunRequest,
} from '../../src/core/contract/index.js';
import { ALL_REMOVED, removalWarning } from '../../src/core/removal.js';
import { toRunError } from '../shared/failures.js';
import { priorityOf, workOf } from '../shared/priority.js';
import { dueAfterShort, isCleanUpDue, lateAfter } from './clean-up-due.js';
import type { Mirror } from './execute-request.js';
import type { RunResult } from './run-steps.js';
import { afterCleanUp } from './unpublished.js';

const CLEAN_UP = {
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
} as const;

interface EndedRun {
  readonly request: RunRequest | RollbackRequest;
  readonly nominalStart: number;
  readonly result: RunResult;
  /** The state of the mirror before the run was published. */
  readonly before: MirrorState;
  readonly active: ActiveRun;
}

/**
 * Cleans up after a published run, if there is something to remove. Never throws: the next run repeats a failed clean-up.
 *
 * @returns warnings for the report
 */
export async function cleanUp(run: EndedRun, mirror: Mirror): Promise<readonly string[]> {
  const { request, result, before } = run;
  const { connection, resource, cleanedUpTo, unpublished, cleanUpDays: days } = before;
  const { runId, snapshot } = result;
  const now = Date.now();
  const short = result.short === undefined ? null : { ...result.short, snapshot };
  if (short !== null && !isCleanUpDue(before, short, now)) {
    mirror.onState({ cleanUpDue: dueAfterShort(before, short, now) });
    return [];
  }
  const steps = proxyActivities<Activities>({
    ...CLEAN_UP,
    priority: priorityOf(connection, workOf(request)),
  });
  const { nominalStart } = run;
  const input = {
    ...{ connection, resource, runId, cleanedUpTo, unpublished, days },
    ...(short === null ? {} : { short: { nominalStart, retention: short.retention } }),
    ...(short?.reported ? { reported: true as const } : {}),
    ...(before.cleanUpDue ? { retention: before.cleanUpDue.retention } : {}),
  };
  try {
    const cleaned = await CancellationScope.nonCancellable(() => steps['worktrack.cleanUp'](input));
    const ended = { runId, startedAt: run.active.startedAt, begun: now, ended: Date.now() };
    mirror.onState(afterCleanUp(before, cleaned, ended));
    const warning = removalWarning(cleaned.refused ?? ALL_REMOVED);
    return warning === null ? [] : [warning];
  } catch (error) {
    mirror.onState({ lateUntil: lateAfter(Date.now()) });
    log.warn('the run is published, but its clean-up failed; the next run repeats it', {
      error: toRunError(error).message,
    });
    return [];
  }
}

/** Removes the files of a run that was cancelled or displaced. */
export function discardRun(ref: DiscardRunInput): Promise<void> {
  const priority = priorityOf(ref.connection, 'background');
  const steps = proxyActivities<Activities>({ ...CLEAN_UP, priority });
  return CancellationScope.nonCancellable(() => steps['worktrack.discardRun'](ref));
}
