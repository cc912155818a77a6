import { WorkflowIdConflictPolicy } from '@temporalio/client';
import { DEFAULT_TASK_QUEUE } from '../core/contract.js';
import {
  WRITE_BACK_WORKFLOW,
  type WriteBackInput,
  writeBackWorkflowId,
} from '../core/write-back-contract.js';
import type { TemporalClient } from './connect.js';

export interface StartWriteBackOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
}

export interface StartedWriteBack {
  readonly workflowId: string;
  /** Whether the batch was under way already with another input or another wish; it has to be started again after that. */
  readonly other: boolean;
}

/**
 * Starts a batch. A batch has one workflow: if it is under way, that is the one.
 */
export async function startWriteBack(
  temporal: TemporalClient,
  input: WriteBackInput,
  options: StartWriteBackOptions = {},
): Promise<StartedWriteBack> {
  const workflowId = writeBackWorkflowId(input);
  const { connection, resource, batchId } = input;
  const wish = JSON.stringify([input.input, input.unknown ?? 'report']);
  const handle = await temporal.client.workflow.start(WRITE_BACK_WORKFLOW, {
    workflowId,
    taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: `Write-back of ${resource} (${connection}), batch ${batchId.slice(0, 12)}`,
    memo: { connection, resource, batchId, wish },
  });
  const { memo } = await handle.describe();
  return { workflowId, other: memo?.wish !== undefined && memo.wish !== wish };
}
