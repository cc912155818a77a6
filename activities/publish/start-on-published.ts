import { getClient } from '@temporalio/activity';
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import {
  type Activities,
  type OnPublishedInput,
  onPublishedWorkflowId,
  type PublishedReport,
  type StartOnPublishedInput,
} from '../../src/core/contract/index.js';

/**
 * Starts the user's workflow once for each report. The id of the workflow contains the run. A workflow with this id that
 * runs is used, and one that has ended is not started again, so that a repeated attempt has no effect
 * (docs/explanation/fencing.md).
 */
export function createStartOnPublished(): Activities['worktrack.startOnPublished'] {
  return async (input) => {
    const client = getClient();
    for (const report of input.reports) await startOnce(client, input, report);
  };
}

async function startOnce(
  client: Client,
  { connection, resource, workflow, taskQueue }: StartOnPublishedInput,
  report: PublishedReport,
): Promise<void> {
  const { runId } = report;
  const argument: OnPublishedInput = { connection, report };
  try {
    await client.workflow.start(workflow, {
      workflowId: onPublishedWorkflowId(connection, resource, runId),
      taskQueue,
      args: [argument],
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      staticSummary: `After run ${runId} of ${resource} (${connection})`,
      memo: { connection, resource, runId },
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
