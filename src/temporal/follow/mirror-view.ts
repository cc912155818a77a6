import { WorkflowNotFoundError } from '@temporalio/client';
import { type ExtractHeartbeat, type MirrorStatus, mirrorWorkflowId } from '../../core/contract/index.js';
import type { TemporalClient } from '../client/connect.js';
import { type ResourceView, waitingView } from './export-view.js';
import { heartbeatOf, lastFailureOf, pendingOf, READING } from './pending-activity.js';

/** Queries the status of a mirror. @throws an SDK error if no worker answers, or the mirror does not exist */
export function queryMirror(
  temporal: TemporalClient,
  connection: string,
  resource: string,
): Promise<MirrorStatus> {
  return temporal.client.workflow
    .getHandle(mirrorWorkflowId(connection, resource))
    .query<MirrorStatus>('status');
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
