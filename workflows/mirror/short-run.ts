import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  log,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import type {
  Activities,
  MirrorState,
  PrepareRunInput,
  RunRequest,
  ShortRun,
} from '../../src/core/contract/index.js';
import { MAX_SHORT_ATTEMPTS } from '../../src/core/mirror.js';
import { toRunError } from '../shared/failures.js';
import { priorityOf, workOf } from '../shared/priority.js';
import { shortSweep } from './sweep.js';

/** A short run takes about a second. Its waits for the service and the store are included. */
const SHORT = {
  startToCloseTimeout: '5 minutes',
  // As for the preparation of a run: nothing waits forever for a worker.
  scheduleToStartTimeout: '6 hours',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: MAX_SHORT_ATTEMPTS },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;

/** The outcome of a short run. `attempts`: their number. */
export type ShortOutcome =
  | Extract<ShortRun, { kind: 'published' }>
  | { readonly kind: 'handed-over'; readonly attempts: number };

/**
 * Whether a run may be short. The first run of a mirror, requests for anything but an increment from the checkpoint, and
 * everything after a failure, a rollback or a purge, need the separate steps.
 */
export function mayBeShort(state: MirrorState, request: RunRequest): boolean {
  const { mode, reconcile, adopt, since } = request;
  const isPlain = mode === 'increment' && !reconcile && !adopt && since === null;
  const { published, checkpoint, displaced, resumable } = state;
  const isSettled = resumable === null && !displaced;
  return isPlain && isSettled && published !== null && checkpoint !== null;
}

/**
 * Does a run in one activity, if it has little to do (docs/explanation/how-it-works.md#short-runs).
 *
 * @param onSent called if an attempt may have sent its swap although the run failed
 * @throws the final error that ended the run
 */
export async function tryShortRun(
  input: PrepareRunInput,
  { state, request }: { state: MirrorState; request: RunRequest },
  onSent: () => void,
): Promise<ShortOutcome> {
  const { connection, resource, pageSize } = state;
  const { allowDeletes } = request;
  const sweep = shortSweep(state, Date.now());
  const { 'worktrack.shortRun': run } = proxyActivities<Activities>({
    ...SHORT,
    priority: priorityOf(connection, workOf(request)),
  });
  const summary = `${resource}: a whole run, if there is little to do`;
  try {
    const result = await run.executeWithOptions({ summary }, [
      { ...input, allowDeletes, pageSize, ...(sweep === null ? {} : { sweep }) },
    ]);
    return result.kind === 'published' ? result : { kind: 'handed-over', attempts: result.attempt };
  } catch (error) {
    if (isCancellation(error) || isFinal(error)) {
      onSent();
      throw error;
    }
    log.warn('the short run failed; the separate steps do the run', { error: toRunError(error).message });
    return { kind: 'handed-over', attempts: MAX_SHORT_ATTEMPTS };
  }
}

/** Whether the separate steps would end with the same error, or no worker would do them. */
function isFinal(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) return cause.nonRetryable === true;
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
}
