import { WorkflowNotFoundError } from '@temporalio/client';
import type { EpochMs, ObjectKey, RunId } from '../../core/brands.js';
import {
  type ExportProgress,
  type ExportResult,
  mirrorWorkflowId,
  type PurgeCounts,
  type ReadHeartbeat,
  type RunOutcome,
  type RunPhase,
  type RunReport,
} from '../../core/contract/index.js';
import type { TemporalClient } from '../client/connect.js';
import { exportResultOf } from '../client/export-result.js';
import { type AttemptFailure, currentStep } from '../status/pending-activity.js';
import { queryMirror } from '../status/read-mirror.js';
import {
  awaitResult,
  type FollowedView,
  type FollowWorkflowOptions,
  followWorkflow,
  queryProgress,
  withCallTimeout,
} from './follow-workflow.js';

export interface FollowOptions extends FollowWorkflowOptions<ExportView> {
  /** The expected resources, shown until a worker has answered, and reported if none answers. */
  readonly resources?: readonly string[] | undefined;
}

/**
 * Waits for the end of an export and reports its progress. Aborting `signal` stops only the following; the export
 * continues.
 *
 * @returns the result, also of a failed or cancelled export
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 * @example
 * const onView = ({ resources }: ExportView) => console.error(resources.map(({ rows }) => rows));
 * const { outcome, runs } = await followExport(temporal, workflowId, { onView });
 */
export function followExport(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowOptions = {},
): Promise<ExportResult> {
  const resources = (options.resources ?? []).map(waitingView);
  const first: ExportView = { workflowId, resources, worker: 'unknown' };
  return followWorkflow(
    temporal,
    first,
    {
      refresh: (before) => refresh(temporal, before),
      async end(last) {
        const result = await awaitResult(temporal, workflowId, options, async (failure) => {
          const ended = options.onView === undefined ? await refresh(temporal, last) : last;
          return exportResultOf(failure, (ended ?? last).resources);
        });
        const seen = (name: string) => last.resources.find(({ resource }) => resource === name);
        const resources = result.runs.map((run) => reportedView(run, seen(run.resource)));
        options.onView?.({ ...last, resources });
        return result;
      },
    },
    options,
  );
}

async function refresh(temporal: TemporalClient, before: ExportView): Promise<ExportView | null> {
  const progress = await queryProgress<ExportProgress>(temporal, before.workflowId);
  if (progress === null || progress.runs.length === 0) return progress && before;
  const resources = await Promise.all(
    progress.runs.map(async ({ resource, report }) => {
      const last = before.resources.find((one) => one.resource === resource);
      if (report !== null) return reportedView(report, last);
      const view = await withCallTimeout(temporal, () =>
        viewMirror(temporal, progress.connection, resource),
      ).catch(() => last ?? waitingView(resource));
      // A run that was in progress has ended, and its report is on its way.
      return view.stage === 'waiting' ? (last ?? view) : view;
    }),
  );
  return { ...before, resources };
}

/** A rollback or a purge that changed nothing. */
export interface UnsuccessfulRequest extends Pick<RunReport, 'resource' | 'error'> {
  readonly outcome: Exclude<RunOutcome, 'published'>;
}

/** The result of a rollback. */
export type RollbackResult =
  | (Pick<RunReport, 'resource' | 'warnings'> & {
      readonly outcome: 'published';
      /** The run in `latest.json` now. */
      readonly runId: RunId;
      readonly rows: number;
      readonly snapshot: ObjectKey;
    })
  | UnsuccessfulRequest;

/** The result of a purge. */
export type PurgeResult =
  | (Pick<RunReport, 'resource' | 'rows' | 'warnings'> & {
      readonly outcome: 'published';
      /** Rows that were removed, and the snapshots and change logs that held them. */
      readonly removed: PurgeCounts;
    })
  | UnsuccessfulRequest;

/**
 * Waits for the end of a backfill, as `followExport` does for an export.
 *
 * @returns the result, also of a failed or cancelled backfill
 * @throws OutOfReachError if Temporal does not answer; WorkflowNotFoundError
 * @example
 * const workflowId = await startBackfill(temporal, { connection: 'acme', since: '2026-08-01' });
 * const { outcome, runs } = await followBackfill(temporal, workflowId);
 */
export function followBackfill(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowOptions = {},
): Promise<ExportResult> {
  return followExport(temporal, workflowId, options);
}

/**
 * Waits for the end of a rollback.
 *
 * @returns the result, also of a failed or cancelled rollback
 * @throws OutOfReachError if Temporal does not answer; WorkflowNotFoundError
 * @example
 * const result = await followRollback(temporal, workflowId);
 * if (result.outcome === 'published') console.log(`${result.resource} has ${result.rows} rows`);
 * else console.error(result.error?.message);
 */
export async function followRollback(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowOptions = {},
): Promise<RollbackResult> {
  const report = onlyRun(await followExport(temporal, workflowId, options));
  const { resource, runId, rows, snapshot, warnings } = report;
  if (report.outcome !== 'published' || runId === null || rows === null || snapshot === null)
    return unsuccessful(report);
  return { outcome: 'published', resource, runId, rows, snapshot, warnings };
}

/**
 * Waits for the end of a purge.
 *
 * @returns the result, also of a failed or cancelled purge
 * @throws OutOfReachError if Temporal does not answer; WorkflowNotFoundError
 * @example
 * const result = await followPurge(temporal, workflowId);
 * if (result.outcome === 'published') console.log(result.removed.snapshots, result.removed.changeLogs);
 */
export async function followPurge(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowOptions = {},
): Promise<PurgeResult> {
  const report = onlyRun(await followExport(temporal, workflowId, options));
  const { resource, rows, warnings, purged } = report;
  if (report.outcome !== 'published' || purged === undefined) return unsuccessful(report);
  return { outcome: 'published', resource, removed: purged, rows, warnings };
}

/** A workflow that ended before it listed its resource has no report. */
function onlyRun({ outcome, runs }: ExportResult): RunReport {
  const nothing = { runId: null, rows: null, counts: null, snapshot: null, warnings: [], error: null };
  return runs[0] ?? { resource: '', outcome, ...nothing };
}

function unsuccessful({ outcome, resource, error }: RunReport): UnsuccessfulRequest {
  return { outcome: outcome === 'published' ? 'failed' : outcome, resource, error };
}

/** The progress of one resource of an export. */
export interface ResourceView extends Pick<ReadHeartbeat, 'pages' | 'rows' | 'waitingUntil'> {
  readonly resource: string;
  /** `waiting`: the mirror has not started the run, or is busy with another request. */
  readonly stage: 'waiting' | RunPhase | RunOutcome;
  readonly runId: RunId | null;
  readonly startedAt: EpochMs | null;
  /** Whether the store limits the requests of the current step. */
  readonly isStoreLimited: boolean;
  /** The failure of the last attempt; `null` if it did not fail. */
  readonly failure: AttemptFailure | null;
  /** The command that continues a step that somebody paused in Temporal; `null` if it is not paused. */
  readonly unpause: string | null;
  /** `null` until the run has ended. */
  readonly report: RunReport | null;
}

/** The progress of an export. */
export interface ExportView extends FollowedView {
  /** Empty until a worker has read the configuration. */
  readonly resources: readonly ResourceView[];
}

export function waitingView(resource: string): ResourceView {
  return {
    resource,
    stage: 'waiting',
    runId: null,
    startedAt: null,
    pages: 0,
    rows: 0,
    waitingUntil: null,
    isStoreLimited: false,
    failure: null,
    unpause: null,
    report: null,
  };
}

function reportedView(report: RunReport, before: ResourceView | undefined): ResourceView {
  return {
    ...(before ?? waitingView(report.resource)),
    stage: report.outcome,
    runId: report.runId,
    rows: report.counts?.fetched ?? before?.rows ?? 0,
    waitingUntil: null,
    isStoreLimited: false,
    failure: null,
    unpause: null,
    report,
  };
}

/**
 * The progress of a resource's run: the mirror's status, with pages and rows from the heartbeat of the running activity,
 * which is more recent.
 */
async function viewMirror(
  temporal: TemporalClient,
  connection: string,
  resource: string,
): Promise<ResourceView> {
  const handle = temporal.client.workflow.getHandle(mirrorWorkflowId(connection, resource));
  try {
    const [status, description] = await Promise.all([
      queryMirror(temporal, connection, resource),
      handle.describe(),
    ]);
    if (status.active === null) return waitingView(resource);
    const { runId, startedAt, phase, pages, rows } = status.active;
    const { heartbeat, failure, unpause } = await currentStep<Partial<ReadHeartbeat>>(temporal, description);
    return {
      ...waitingView(resource),
      stage: phase,
      runId,
      startedAt,
      pages: Math.max(pages, heartbeat?.pages ?? 0),
      rows: Math.max(rows, heartbeat?.rows ?? 0),
      waitingUntil: heartbeat?.waitingUntil ?? null,
      isStoreLimited: heartbeat?.storeLimit !== undefined,
      failure,
      unpause,
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return waitingView(resource);
    throw error;
  }
}
