import { type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { type ExtractHeartbeat, type MirrorStatus, mirrorWorkflowId } from '../core/contract.js';
import type { TemporalClient } from './connect.js';
import { type ResourceView, waitingView } from './export-view.js';

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
      trouble: pending.map(troubleOf).find((trouble) => trouble !== null) ?? null,
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return waitingView(resource);
    throw error;
  }
}

function troubleOf(activity: Activity): ResourceView['trouble'] {
  const message = activity.lastFailure?.message;
  if (message === undefined || message === null || message === '') return null;
  const attempt = Math.max(1, (activity.attempt ?? 2) - 1);
  return { message, attempt, retry: activity.state === STARTED ? 'running' : 'waiting' };
}

async function heartbeatOf(temporal: TemporalClient, activity: Activity): Promise<ExtractHeartbeat | null> {
  let payloads = (activity.heartbeatDetails?.payloads ?? []) as Payload[];
  const { payloadCodecs, payloadConverter } = temporal.client.options.loadedDataConverter;
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  const [first] = payloads;
  return first === undefined ? null : payloadConverter.fromPayload<ExtractHeartbeat>(first);
}
