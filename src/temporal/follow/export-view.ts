import { WorkflowNotFoundError } from '@temporalio/client';
import type { RunId } from '../../core/brands.js';
import {
  type ExtractHeartbeat,
  mirrorWorkflowId,
  type RunOutcome,
  type RunPhase,
  type RunReport,
} from '../../core/contract/index.js';
import type { TemporalClient } from '../client/connect.js';
import {
  type AttemptFailure,
  heartbeatOf,
  lastFailureOf,
  pendingOf,
  READING,
} from '../status/pending-activity.js';
import { queryMirror } from '../status/read-mirror.js';
import type { FollowedView } from './follow-workflow.js';

/** The progress of one resource of an export. */
export interface ResourceView {
  readonly resource: string;
  /** `waiting`: the mirror has not started the run, or is busy with another request. */
  readonly stage: 'waiting' | RunPhase | RunOutcome;
  readonly runId: RunId | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number | null;
  readonly pages: number;
  readonly rows: number;
  /** The service asked not to send requests before this time, milliseconds since 1970. */
  readonly waitingUntil: number | null;
  /** Whether the store limits the requests of the current step. */
  readonly isStoreLimited: boolean;
  /** The failure of the last attempt; `null` if it did not fail. */
  readonly failure: AttemptFailure | null;
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
    report: null,
  };
}

export function reportedView(report: RunReport, before: ResourceView | undefined): ResourceView {
  return {
    ...(before ?? waitingView(report.resource)),
    stage: report.outcome,
    runId: report.runId,
    rows: report.counts?.fetched ?? before?.rows ?? 0,
    waitingUntil: null,
    isStoreLimited: false,
    failure: null,
    report,
  };
}

/**
 * The progress of a resource's run: the mirror's status, with pages and rows from the heartbeat of the running activity,
 * which is more recent.
 */
export async function viewMirror(
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
    const pending = pendingOf(description);
    const extracting = pending.find(({ activityType }) => READING.includes(activityType?.name ?? ''));
    const heartbeat = await heartbeatOf<Partial<ExtractHeartbeat>>(temporal, extracting ?? pending[0]);
    return {
      ...waitingView(resource),
      stage: phase,
      runId,
      startedAt,
      pages: Math.max(pages, heartbeat?.pages ?? 0),
      rows: Math.max(rows, heartbeat?.rows ?? 0),
      waitingUntil: heartbeat?.waitingUntil ?? null,
      isStoreLimited: heartbeat?.storeLimit !== undefined,
      failure: await lastFailureOf(temporal, pending),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return waitingView(resource);
    throw error;
  }
}
