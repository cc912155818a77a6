import { CancelledFailure, type WorkflowExecutionDescription, WorkflowFailedError } from '@temporalio/client';
import {
  NO_DIFFERENCES,
  noRows,
  type SendHeartbeat,
  type WriteBackProgress,
  type WriteBackResult,
  type WriteBackStage,
} from '../../core/contract/write-back.js';
import type { TemporalClient } from '../client/connect.js';
import { reasonOf, resultIn } from '../client/export-result.js';
import { type AttemptFailure, currentStep } from '../status/pending-activity.js';
import {
  awaitResult,
  type FollowedView,
  type FollowWorkflowOptions,
  followWorkflow,
  queryProgress,
} from './follow-workflow.js';

/** The progress of a batch. */
export interface WriteBackView
  extends FollowedView,
    Pick<WriteBackProgress, 'rows' | 'done'>,
    Pick<SendHeartbeat, 'waitingUntil'> {
  readonly stage: WriteBackStage | 'waiting';
  /** The failure of the last attempt; `null` if it did not fail. */
  readonly failure: AttemptFailure | null;
  /** The command that continues a step that somebody paused in Temporal; `null` if it is not paused. */
  readonly unpause: string | null;
}

export type FollowWriteBackOptions = FollowWorkflowOptions<WriteBackView>;

/**
 * Waits for the end of a batch and reports its progress. Aborting `signal` stops only the following; the batch continues.
 *
 * @returns the result, also of a failed or cancelled batch
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 * @example
 * const { outcome, counts, results } = await followWriteBack(temporal, workflowId);
 */
export function followWriteBack(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowWriteBackOptions = {},
): Promise<WriteBackResult> {
  const first: WriteBackView = {
    workflowId,
    stage: 'waiting',
    rows: null,
    done: 0,
    waitingUntil: null,
    failure: null,
    unpause: null,
    worker: 'unknown',
  };
  return followWorkflow(
    temporal,
    first,
    {
      refresh: (before, described) => refresh(temporal, before, described),
      end: () =>
        awaitResult(temporal, workflowId, options, async (failure) => {
          // The progress of a failed batch contains its partial result.
          const progress = await queryProgress<WriteBackProgress>(temporal, workflowId);
          const batchId = workflowId.slice(workflowId.lastIndexOf('/') + 1);
          return writeBackResultOf(failure, batchId, progress?.result ?? null);
        }),
    },
    options,
  );
}

async function refresh(
  temporal: TemporalClient,
  before: WriteBackView,
  described: WorkflowExecutionDescription,
): Promise<WriteBackView | null> {
  const progress = await queryProgress<WriteBackProgress>(temporal, before.workflowId);
  if (progress === null) return null;
  const { heartbeat, failure, unpause } = await currentStep<Partial<SendHeartbeat> | null>(
    temporal,
    described,
  );
  return {
    ...before,
    stage: progress.stage,
    rows: progress.rows,
    // While the activity is sending, only its heartbeat has the number of rows.
    done: Math.max(progress.done, heartbeat?.rows ?? 0),
    waitingUntil: heartbeat?.waitingUntil ?? null,
    failure,
    unpause,
  };
}

/**
 * The result of a batch whose workflow did not return one. The failure of a failed workflow contains the result.
 *
 * @param known the result from the workflow's `progress` query, if it has one
 * @throws the error itself if it does not mean that the batch ended
 * @example
 * const handle = temporal.client.workflow.getHandle(workflowId);
 * const result = await handle.result().catch((error: unknown) => writeBackResultOf(error, 'november', null));
 */
export function writeBackResultOf(
  error: unknown,
  batchId: string,
  known: WriteBackResult | null,
): WriteBackResult {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  const result = resultIn<WriteBackResult>(error, 'WriteBackFailed');
  if (result !== null) return result;
  if (known !== null) return known;
  const cancelled = cause instanceof CancelledFailure;
  return {
    batchId,
    outcome: cancelled ? 'cancelled' : 'failed',
    counts: noRows(),
    results: null,
    rows: 0,
    unsent: 0,
    refusals: null,
    ...NO_DIFFERENCES,
    warnings: [],
    error: cancelled
      ? null
      : { ...reasonOf(cause, 'the batch', 'run the same command again'), type: 'Failed' },
  };
}
