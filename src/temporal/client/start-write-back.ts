import { WorkflowIdConflictPolicy } from '@temporalio/client';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import {
  shownBatchId,
  WRITE_BACK_WORKFLOW,
  type WriteBackInput,
  writeBackWorkflowId,
} from '../../core/contract/write-back.js';
import type { TemporalClient } from './connect.js';

export interface StartWriteBackOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
}

export interface StartedWriteBack {
  readonly workflowId: string;
  /** Whether the batch is already running with another input or other options. If so, start it again after it ends. */
  readonly isOther: boolean;
}

/**
 * Starts a batch. A batch has one workflow id, so a running workflow of the batch is returned as it is.
 *
 * @example
 * const input = await stageWriteBack(connection, { resource: 'time-entries', file: 'november.csv' });
 * const { workflowId } = await startWriteBack(temporal, input);
 */
export async function startWriteBack(
  temporal: TemporalClient,
  input: WriteBackInput,
  options: StartWriteBackOptions = {},
): Promise<StartedWriteBack> {
  const workflowId = writeBackWorkflowId(input);
  const { connection, resource, batchId } = input;
  const request = JSON.stringify([input.input, input.unknown ?? 'report', input.written ?? null]);
  const handle = await temporal.client.workflow.start(WRITE_BACK_WORKFLOW, {
    workflowId,
    taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: `Write-back of ${resource} (${connection}), batch ${shownBatchId(batchId)}`,
    memo: { connection, resource, batchId, request, startedAt: Date.now() },
  });
  const { memo } = await handle.describe();
  return { workflowId, isOther: memo?.request !== undefined && memo.request !== request };
}
