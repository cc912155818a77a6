import { ApplicationFailure, activityInfo, getClient } from '@temporalio/activity';
import {
  type Client,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  type WorkflowStartOptions,
} from '@temporalio/client';
import type { RunId } from '../../src/core/brands.js';
import {
  ANNOUNCE_WORKFLOW,
  type AnnounceInput,
  announceWorkflowId,
  type OnPublishedInput,
  type OnPublishedTarget,
  onPublishedWorkflowId,
  type PublishedReport,
  type StartedOnPublished,
  type StartOnPublishedInput,
} from '../../src/core/contract/index.js';
import { errorMessage } from '../../src/core/errors.js';
import { warningTexts } from '../../src/core/run-records.js';
import type { Warning } from '../../src/core/warnings.js';
import { DamagedError } from '../../src/lake/damaged-error.js';
import { summaryOf } from '../../src/lake/documents/check-record.js';
import { dateOfRun, manifestKey } from '../../src/lake/documents/lake-layout.js';
import { warningFields } from '../../src/lake/documents/manifest.js';
import { findRun, runsAfter } from '../../src/lake/published/chain.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { DocumentTooLargeError } from '../../src/lake/too-large-error.js';
import type { ActivityDeps } from '../../src/run/deps.js';

/** The gRPC status of a start that no repetition makes valid (https://grpc.io/docs/guides/status-codes/). */
const INVALID_ARGUMENT = 3;

/**
 * Starts the user's workflow for each run of the chain after the last one that it was started for, oldest first. The id
 * of the workflow contains the run. A workflow with this id that runs is used, and one that has ended is not started
 * again, so that a repeated attempt has no effect (docs/internals/fencing.md).
 *
 * A start that the server can never accept is skipped, with a warning. Any other failure ends the activity: its first detail
 * names the last run whose workflow was started.
 */
export async function startOnPublished(
  deps: ActivityDeps,
  input: StartOnPublishedInput,
): Promise<StartedOnPublished> {
  const { connection, resource, runId, after, hook } = input;
  const { store, settings } = deps.connection(connection);
  const targets = settings.notify.filter(({ published }) => published !== null).map(({ id }) => id);
  const client = getClient();
  const warnings: Warning[] = [];
  let hookedTo: RunId | null = null;
  // A mirror without a start so far begins with its current run.
  const runs =
    after === null ? [runId] : await runsAfter(store, resource, runId, after === 'beginning' ? null : after);
  for (const run of runs) {
    try {
      const report = await reportOf(store, resource, run);
      if (hook !== 'announce') await startOnce(client, userWorkflow({ connection, report }, hook));
      if (targets.length > 0) await startOnce(client, announcement({ connection, report, targets }));
    } catch (error) {
      if (!isFinal(error)) {
        const details = hookedTo === null ? [] : [{ hookedTo } satisfies Partial<StartedOnPublished>];
        throw ApplicationFailure.create({ message: errorMessage(error), details });
      }
      const target = hook === 'announce' ? null : hook;
      warnings.push({ kind: 'hook-skipped', runId: run, target, message: errorMessage(error) });
    }
    hookedTo = run;
  }
  return { hookedTo: runId, warnings };
}

/** The report of a published run, from the manifest of its change log, which is kept forever. */
async function reportOf(store: ObjectStore, resource: string, runId: RunId): Promise<PublishedReport> {
  const run = await findRun(store, resource, runId);
  if (run === null) throw new DamagedError(`the change log of run ${runId} is missing`);
  const { mode, counts, deletes, checks, rolledBack } = run.manifest;
  const snapshot = manifestKey(resource, 'snapshots', dateOfRun(run.changes), runId);
  return {
    ...{ resource, outcome: 'published', runId, rows: counts.rows, counts, snapshot },
    ...{ warnings: warningTexts(warningFields(run.manifest)), deletes },
    ...(checks === undefined ? {} : { checks: summaryOf(checks) }),
    ...(mode === 'rollback' && rolledBack !== null ? { rolledBackTo: rolledBack.to } : {}),
  };
}

/** The workflow of a user for a run. */
function userWorkflow(argument: OnPublishedInput, { workflow, taskQueue }: OnPublishedTarget): Start {
  const { connection, report } = argument;
  const { resource, runId } = report;
  return [
    workflow,
    {
      workflowId: onPublishedWorkflowId(connection, resource, runId),
      taskQueue,
      args: [argument],
      staticSummary: `After run ${runId} of ${resource} (${connection})`,
      memo: { connection, resource, runId },
    },
  ];
}

/** The workflow that announces a run, on the task queue of this worker. */
function announcement(input: AnnounceInput): Start {
  const { connection, report } = input;
  const { resource, runId } = report;
  return [
    ANNOUNCE_WORKFLOW,
    {
      workflowId: announceWorkflowId(connection, resource, runId),
      taskQueue: activityInfo().taskQueue,
      args: [input],
      staticSummary: `Announces run ${runId} of ${resource} (${connection})`,
    },
  ];
}

/** A workflow's type, and how it starts. */
type Start = [type: string, options: WorkflowStartOptions];

/** Starts a workflow, unless it has already been started, even if it has ended since. */
async function startOnce(client: Client, [type, options]: Start): Promise<void> {
  try {
    await client.workflow.start(type, {
      ...options,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Whether no repetition helps: the server rejects the start itself, such as too large an argument, or there is no report. */
function isFinal(error: unknown): boolean {
  if (error instanceof DamagedError || error instanceof DocumentTooLargeError) return true;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return isGrpcServiceError(cause) && cause.code === INVALID_ARGUMENT;
}
