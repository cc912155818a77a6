import { ApplicationFailure, getClient } from '@temporalio/activity';
import {
  type Client,
  isGrpcServiceError,
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
  type UnstartedRuns,
} from '../../src/core/contract/index.js';
import { errorMessage } from '../../src/core/errors.js';

/** The gRPC status of a start that no repetition makes valid (https://grpc.io/docs/guides/status-codes/). */
const INVALID_ARGUMENT = 3;

/**
 * Starts the user's workflow once for each report. The id of the workflow contains the run. A workflow with this id that
 * runs is used, and one that has ended is not started again, so that a repeated attempt has no effect
 * (docs/explanation/fencing.md). A start that fails does not stop those of later runs.
 */
export function createStartOnPublished(): Activities['worktrack.startOnPublished'] {
  return async (input) => {
    const client = getClient();
    const failures: { readonly runId: string; readonly error: unknown }[] = [];
    for (const report of input.reports)
      await startOnce(client, input, report).catch((error: unknown) =>
        failures.push({ runId: report.runId, error }),
      );
    if (failures.length > 0) throw toFailure(failures);
  };
}

/** Fails with the first error. Its details name the runs whose workflow was not started. */
function toFailure(failures: readonly { readonly runId: string; readonly error: unknown }[]): Error {
  const details: UnstartedRuns = { unstarted: failures.map(({ runId }) => runId) };
  const [{ error } = { error: undefined }] = failures;
  return ApplicationFailure.create({
    message: errorMessage(error),
    nonRetryable: failures.every((failure) => isInvalid(failure.error)),
    details: [details],
  });
}

/** Whether the server rejects the start itself, such as one with too large an argument. */
function isInvalid(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT;
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
