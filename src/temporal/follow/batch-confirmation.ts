import { WorkflowIdConflictPolicy } from '@temporalio/client';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import {
  type BatchRef,
  CONFIRM_WORKFLOW,
  type ConfirmPlan,
  type ConfirmResult,
  confirmWorkflowId,
  shownBatchId,
} from '../../core/contract/write-back.js';
import type { ReachOptions } from '../../core/reachability.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { awaitResult } from './follow-workflow.js';

/** A batch whose written rows are still looked for. */
export interface OpenConfirmation extends Pick<BatchRef, 'batchId'> {
  readonly resource: string;
  readonly startedAt: Date;
}

/** Batches that are listed. */
const MAX_LISTED = 100;

/** The batches of a connection whose written rows are still looked for. @throws an SDK error if Temporal does not answer */
export function openConfirmations(
  temporal: TemporalClient,
  connection: string,
  timeoutMs?: number,
): Promise<readonly OpenConfirmation[]> {
  const ids = `worktrack/${connection}/confirm/`;
  const query = `WorkflowType = '${CONFIRM_WORKFLOW}' AND WorkflowId STARTS_WITH '${ids}' AND ExecutionStatus = 'Running'`;
  const list = async (): Promise<readonly OpenConfirmation[]> => {
    const open: OpenConfirmation[] = [];
    for await (const { workflowId, startTime } of temporal.client.workflow.list({ query })) {
      const [resource, batchId, on] = workflowId.slice(ids.length).split('/');
      if (resource !== undefined && batchId !== undefined && on === undefined)
        open.push({ resource, batchId, startedAt: startTime });
      if (open.length === MAX_LISTED) break;
    }
    return open;
  };
  return withDeadline(temporal, list, timeoutMs);
}

/** Starts the workflow that looks once for the written rows of a batch. @returns its id */
export async function startConfirmation(
  temporal: TemporalClient,
  batch: BatchRef & ConfirmPlan,
  taskQueue: string = DEFAULT_TASK_QUEUE,
): Promise<string> {
  const { connection, resource, batchId } = batch;
  const workflowId = confirmWorkflowId(batch, 'demand');
  await temporal.client.workflow.start(CONFIRM_WORKFLOW, {
    ...{ workflowId, taskQueue, args: [{ ...batch, once: true, readFirst: true }] },
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: `Confirmation of ${resource} (${connection}), batch ${shownBatchId(batchId)}`,
    memo: { connection, resource, batchId },
  });
  return workflowId;
}

/** Waits for the result. @throws WorkflowFailedError; as `awaitResult` */
export function confirmationResult(
  temporal: TemporalClient,
  workflowId: string,
  options: ReachOptions,
): Promise<ConfirmResult> {
  return awaitResult<ConfirmResult>(temporal, workflowId, options, (failure) => {
    throw failure;
  });
}
