import { type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { type ExtractHeartbeat, type MirrorStatus, mirrorWorkflowId } from '../core/contract.js';
import type { TemporalClient } from './connect.js';
import { type ResourceView, waitingView } from './export-view.js';
import { decodePayload, failureMessage } from './payloads.js';

type Activity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** `PENDING_ACTIVITY_STATE_STARTED`: a worker has the attempt. */
const STARTED = 2;

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
    const pending = description.raw.pendingActivities ?? [];
    const extracting = pending.find((activity) => activity.activityType?.name === 'worktrack.extractPages');
    const beat = extracting === undefined ? null : await heartbeatOf(temporal, extracting);
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

async function troubleOf(
  temporal: TemporalClient,
  pending: readonly Activity[],
): Promise<ResourceView['trouble']> {
  const failing = pending.find(({ lastFailure }) => lastFailure?.message);
  if (failing === undefined) return null;
  const message = await failureMessage(temporal.client, failing.lastFailure!);
  const attempt = Math.max(1, (failing.attempt ?? 2) - 1);
  return { message, attempt, retry: failing.state === STARTED ? 'running' : 'waiting' };
}

async function heartbeatOf(temporal: TemporalClient, activity: Activity): Promise<ExtractHeartbeat | null> {
  const [first] = activity.heartbeatDetails?.payloads ?? [];
  if (first === undefined) return null;
  return decodePayload<ExtractHeartbeat>(temporal.client, first as Payload);
}
