import type { WorkflowExecutionDescription } from '@temporalio/client';
import type {
  SendHeartbeat,
  WriteBackProgress,
  WriteBackResult,
  WriteBackStage,
} from '../core/write-back-contract.js';
import type { TemporalClient } from './connect.js';
import {
  askProgress,
  type FollowedView,
  type FollowWorkflowOptions,
  followWorkflow,
  resultOf,
} from './follow-workflow.js';
import { heartbeatOf, pendingOf, type Trouble, troubleOf } from './pending-activity.js';
import { writeBackResultOf } from './write-back-result.js';

/** Where a batch stands. */
export interface WriteBackView extends FollowedView {
  readonly stage: WriteBackStage | 'waiting';
  /** `null` until the input has been read. */
  readonly rows: number | null;
  readonly done: number;
  /** Milliseconds since 1970 until which the service asked to be left alone. */
  readonly waitingUntil: number | null;
  /** What the last attempt failed with; `null` when it is all right. */
  readonly trouble: Trouble | null;
}

export type FollowWriteBackOptions = FollowWorkflowOptions<WriteBackView>;

/**
 * Waits for the end of a batch and tells where it stands meanwhile. The batch does not depend on being followed:
 * aborting `signal` leaves it running.
 *
 * @returns the result, of a failed or cancelled batch too
 * @throws OutOfReachError when Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export function followWriteBack(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowWriteBackOptions = {},
): Promise<WriteBackResult> {
  return followWorkflow(
    temporal,
    { ...NOTHING, workflowId },
    {
      look: (before, described) => look(temporal, before, described),
      async end() {
        // One that failed tells in its account how far it came.
        const progress = await askProgress<WriteBackProgress>(temporal, workflowId);
        const batchId = workflowId.slice(workflowId.lastIndexOf('/') + 1);
        return resultOf(temporal, workflowId, (error) =>
          writeBackResultOf(error, batchId, progress?.result ?? null),
        );
      },
    },
    options,
  );
}

const NOTHING: Omit<WriteBackView, 'workflowId'> = {
  stage: 'waiting',
  rows: null,
  done: 0,
  waitingUntil: null,
  trouble: null,
  worker: 'unknown',
  taskQueue: null,
};

async function look(
  temporal: TemporalClient,
  before: WriteBackView,
  described: WorkflowExecutionDescription,
): Promise<WriteBackView | null> {
  const progress = await askProgress<WriteBackProgress>(temporal, before.workflowId);
  if (progress === null) return null;
  const pending = pendingOf(described);
  const sending = pending.find((activity) => activity.activityType?.name === 'worktrack.sendRows');
  const beat = await heartbeatOf<SendHeartbeat | undefined>(temporal, sending);
  return {
    ...before,
    stage: progress.stage,
    rows: progress.rows,
    // Only a heartbeat knows of rows while the activity is still sending.
    done: Math.max(progress.done, beat?.rows ?? 0),
    waitingUntil: beat?.waitingUntil ?? null,
    trouble: await troubleOf(temporal, pending),
  };
}
