import type { WorkflowExecutionDescription } from '@temporalio/client';
import type {
  SendHeartbeat,
  WriteBackProgress,
  WriteBackResult,
  WriteBackStage,
} from '../../core/contract/write-back.js';
import type { TemporalClient } from '../client/connect.js';
import { awaitResult } from './await-result.js';
import {
  type FollowedView,
  type FollowWorkflowOptions,
  followWorkflow,
  queryProgress,
} from './follow-workflow.js';
import { type AttemptFailure, heartbeatOf, lastFailureOf, pendingOf } from './pending-activity.js';
import { writeBackResultOf } from './write-back-result.js';

/** The progress of a batch. */
export interface WriteBackView extends FollowedView {
  readonly stage: WriteBackStage | 'waiting';
  /** `null` until the input has been read. */
  readonly rows: number | null;
  readonly done: number;
  /** The time until which the service asked not to send requests, milliseconds since 1970. */
  readonly waitingUntil: number | null;
  /** The failure of the last attempt; `null` if it did not fail. */
  readonly failure: AttemptFailure | null;
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
  return followWorkflow(
    temporal,
    { ...INITIAL_VIEW, workflowId },
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

const INITIAL_VIEW: Omit<WriteBackView, 'workflowId'> = {
  stage: 'waiting',
  rows: null,
  done: 0,
  waitingUntil: null,
  failure: null,
  worker: 'unknown',
  taskQueue: null,
};

async function refresh(
  temporal: TemporalClient,
  before: WriteBackView,
  described: WorkflowExecutionDescription,
): Promise<WriteBackView | null> {
  const progress = await queryProgress<WriteBackProgress>(temporal, before.workflowId);
  if (progress === null) return null;
  const pending = pendingOf(described);
  const sending = pending.find((activity) => activity.activityType?.name === 'worktrack.sendRows');
  const heartbeat = await heartbeatOf<SendHeartbeat | undefined>(temporal, sending);
  return {
    ...before,
    stage: progress.stage,
    rows: progress.rows,
    // While the activity is sending, only its heartbeat has the number of rows.
    done: Math.max(progress.done, heartbeat?.rows ?? 0),
    waitingUntil: heartbeat?.waitingUntil ?? null,
    failure: await lastFailureOf(temporal, pending),
  };
}
