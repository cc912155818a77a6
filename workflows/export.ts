import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, ExportInput, ExportResult, RunReport, RunRequest } from '../src/core/contract.js';
import { mirrorWorkflowId } from '../src/core/contract.js';
import { toRunError } from './failures.js';
import { exportProgress, requestRun, runAnswered, withdrawRequest } from './messages.js';
import { newMirror, resourceMirrorWorkflow } from './resource-mirror.js';

/** A request is repeated after this long without an answer, ms; the mirror knows it by its id. */
const ASK_AGAIN_AFTER = 5 * 60_000;
const ASK_AGAIN_AT_LEAST_EVERY = 60 * 60_000;
const DAY = 24 * 60 * 60_000;

const { 'worktrack.planExport': planExport } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/**
 * One run over all resources of a connection, or over some: asks each resource's mirror and gathers the answers.
 * A resource that fails does not stop the others; then the export fails at its end, with every outcome in the
 * failure's details (DESIGN 3.16).
 */
export async function exportWorkflow(input: ExportInput): Promise<ExportResult> {
  const reports = new Map<string, RunReport>();
  let resources: readonly string[] = input.resources ?? [];
  setHandler(exportProgress, () => ({
    connection: input.connection,
    runs: resources.map((resource) => ({ resource, report: reports.get(resource) ?? null })),
  }));
  setHandler(runAnswered, ({ requestId, report }) => {
    if (requestId === requestIdOf(report.resource)) reports.set(report.resource, report);
  });

  const plan = await planExport(input);
  resources = plan.resources;
  const nominalStart = nominalTime();
  try {
    await Promise.all(resources.map((resource) => askOrFail(resource)));
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(withdrawAll);
    throw error;
  }
  const runs = resources.map((resource) => reports.get(resource)!);
  const worst = (['refused', 'failed', 'cancelled'] as const).find((bad) =>
    runs.some((run) => run.outcome === bad),
  );
  if (worst === undefined) return { outcome: 'published', runs };
  const result: ExportResult = { outcome: worst, runs };
  throw ApplicationFailure.create({
    type: 'ExportFailed',
    nonRetryable: true,
    message: runs
      .flatMap((run) => (run.error === null ? [] : [named(run.resource, run.error.message)]))
      .join('\n'),
    details: [result],
  });

  function requestIdOf(resource: string): string {
    return `${workflowInfo().firstExecutionRunId}/${resource}`;
  }

  /** A mirror that cannot be asked is that resource's failure, and no other's. */
  async function askOrFail(resource: string): Promise<void> {
    try {
      await ask(resource);
    } catch (error) {
      if (isCancellation(error)) throw error;
      const nothing = { runId: null, rows: null, counts: null, snapshot: null, warnings: [] };
      reports.set(resource, { resource, outcome: 'failed', ...nothing, error: toRunError(error) });
    }
  }

  async function ask(resource: string): Promise<void> {
    const workflowId = mirrorWorkflowId(input.connection, resource);
    const request: RunRequest = {
      requestId: requestIdOf(resource),
      replyTo: workflowInfo().workflowId,
      mode: input.full === true ? 'full' : 'increment',
      reconcile: false,
      adopt: input.adopt === true,
      allowDeletes: input.allowDeletes === true,
      nominalStart,
    };
    // A mirror gives up by itself; the margin is for requests that wait before this one.
    const deadline = Date.now() + DAY + 4 * plan.giveUpAfterMs;
    for (
      let wait = ASK_AGAIN_AFTER;
      !reports.has(resource);
      wait = Math.min(2 * wait, ASK_AGAIN_AT_LEAST_EVERY)
    ) {
      await ensureMirror(input.connection, resource, workflowId);
      await getExternalWorkflowHandle(workflowId).signal(requestRun, request);
      await condition(() => reports.has(resource), wait);
      if (!reports.has(resource) && Date.now() > deadline) {
        throw ApplicationFailure.nonRetryable(
          `${resource}: its mirror (workflow ${workflowId}) did not answer in time`,
          'MirrorSilent',
        );
      }
    }
  }

  async function withdrawAll(): Promise<void> {
    const open = resources.filter((resource) => !reports.has(resource));
    await Promise.allSettled(
      open.map((resource) =>
        getExternalWorkflowHandle(mirrorWorkflowId(input.connection, resource)).signal(
          withdrawRequest,
          requestIdOf(resource),
        ),
      ),
    );
  }
}

/** Most messages name their resource themselves. */
function named(resource: string, message: string): string {
  return message.includes(resource) ? message : `${resource}: ${message}`;
}

/** Starts a mirror that outlives this export, unless it is there. */
async function ensureMirror(connection: string, resource: string, workflowId: string): Promise<void> {
  try {
    await startChild(resourceMirrorWorkflow, {
      workflowId,
      args: [newMirror(connection, resource)],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      staticSummary: `Mirror of ${resource} (${connection})`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** The Schedule's time where a Schedule started this run, else now; milliseconds since 1970. */
function nominalTime(): number {
  const [scheduled] = (workflowInfo().searchAttributes.TemporalScheduledStartTime ?? []) as unknown as Date[];
  return scheduled === undefined ? Date.now() : new Date(scheduled).getTime();
}
