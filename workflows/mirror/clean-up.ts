import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type { RunId } from '../../src/core/brands.js';
import type {
  ActiveRun,
  Activities,
  CleanedUp,
  DiscardRunInput,
  MirrorState,
  RunRequest,
} from '../../src/core/contract/index.js';
import { toRunError } from '../shared/failures.js';
import { priorityOf, workOf } from '../shared/priority.js';
import { dueAfterShort, isCleanUpDue, lateAfter } from './clean-up-due.js';
import type { Mirror } from './execute-request.js';
import type { RunResult } from './run-steps.js';

const CLEAN_UP = {
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
} as const;

/** Unpublished runs that the state lists for the next clean-up. Clean-up finds older ones by the chain of change logs. */
const MAX_UNPUBLISHED = 100;

interface EndedRun {
  readonly request: RunRequest;
  readonly result: RunResult;
  /** The state of the mirror before the run was published. */
  readonly before: MirrorState;
  readonly active: ActiveRun;
}

/** Cleans up after a published run, if there is something to remove. Never throws: the next run repeats a failed clean-up. */
export async function cleanUp(run: EndedRun, mirror: Mirror): Promise<void> {
  const { request, result, before } = run;
  const { connection, resource, cleanedUpTo, unpublished, cleanUpFrom } = before;
  const { runId, snapshot } = result;
  const now = Date.now();
  const short = result.short === undefined ? null : { ...result.short, snapshot };
  if (short !== null && !isCleanUpDue(before, short, now)) {
    mirror.onState({ cleanUpDue: dueAfterShort(before, short, now) });
    return;
  }
  const steps = proxyActivities<Activities>({
    ...CLEAN_UP,
    priority: priorityOf(connection, workOf(request)),
  });
  const { nominalStart } = request;
  const input = {
    ...{ connection, resource, runId, cleanedUpTo, unpublished },
    ...(short === null ? {} : { short: { nominalStart, retention: short.retention } }),
    ...(cleanUpFrom ? { from: cleanUpFrom } : {}),
    ...(short?.reported ? { reported: true as const } : {}),
    ...(before.cleanUpDue ? { retention: before.cleanUpDue.retention } : {}),
  };
  try {
    const cleaned = await CancellationScope.nonCancellable(() => steps['worktrack.cleanUp'](input));
    mirror.onState(afterCleanUp(run, cleaned, now));
  } catch (error) {
    mirror.onState({ lateUntil: lateAfter(Date.now()) });
    log.warn('the run is published, but its clean-up failed; the next run repeats it', {
      error: toRunError(error).message,
    });
  }
}

/** @param begun when the clean-up began, milliseconds since 1970 */
function afterCleanUp(
  { before, active, result: { runId } }: EndedRun,
  { complete, due, replaced }: CleanedUp,
  begun: number,
): Partial<MirrorState> {
  const changes: Partial<MirrorState> = {
    cleanUpDue: due ?? null,
    ...(replaced ? { lateUntil: lateAfter(Date.now()) } : {}),
  };
  if (!complete) return changes;
  const upTo = active.startedAt < (before.sweepUntil ?? 0) ? null : runId;
  // Delayed requests of replaced attempts may still write what was just removed, so a later clean-up looks again.
  if (begun < (before.lateUntil ?? 0)) return { cleanedUpTo: upTo, ...changes };
  return { cleanedUpTo: upTo, unpublished: [], cleanUpFrom: null, lateUntil: null, ...changes };
}

/**
 * Adds runs that may have written to the lake and are not published. Their delayed requests may still arrive.
 *
 * @param nominalStart of these runs, or of the run whose attempt was replaced, milliseconds since 1970
 */
export function withUnpublished(
  { unpublished, cleanUpFrom }: MirrorState,
  runIds: readonly RunId[],
  nominalStart: number,
): Pick<MirrorState, 'unpublished' | 'cleanUpFrom' | 'lateUntil'> {
  const all = [...unpublished.filter((id) => !runIds.includes(id)), ...runIds];
  return {
    unpublished: all.slice(-MAX_UNPUBLISHED),
    cleanUpFrom: Math.min(cleanUpFrom ?? nominalStart, nominalStart),
    lateUntil: lateAfter(Date.now()),
  };
}

/** Removes the files of a run that was cancelled or displaced. */
export function discardRun(ref: DiscardRunInput): Promise<void> {
  const priority = priorityOf(ref.connection, 'background');
  const steps = proxyActivities<Activities>({ ...CLEAN_UP, priority });
  return CancellationScope.nonCancellable(() => steps['worktrack.discardRun'](ref));
}
