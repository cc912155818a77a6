import { WorkflowNotFoundError } from '@temporalio/client';
import { type ExtractHeartbeat, type MirrorStatus, mirrorWorkflowId } from '../core/contract.js';
import type { TemporalClient } from './connect.js';
import { type ResourceView, waitingView } from './export-view.js';
import { heartbeatOf, pendingOf, troubleOf } from './pending-activity.js';

/** A mirror's own account of itself. @throws an error of the SDK when no worker answers, or there is no such mirror */
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
 * Where the run of a resource stands: its mirror's answer, with the heartbeat of the activity under way, which knows
 * of every page.
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
    const extracting = pending.find((activity) => activity.activityType?.name === 'worktrack.extractPages');
    const beat = await heartbeatOf<ExtractHeartbeat>(temporal, extracting);
    return {
      ...waitingView(resource),
      stage: phase,
      runId,
      startedAt,
      pages: Math.max(pages, beat?.pages ?? 0),
      rows: Math.max(rows, beat?.rows ?? 0),
      waitingUntil: beat?.waitingUntil ?? null,
      trouble: await troubleOf(temporal, pending),
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return waitingView(resource);
    throw error;
  }
}
