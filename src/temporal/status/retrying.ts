import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { TemporalClient } from '../client/connect.js';
import { failingOf, lastFailureOf, pendingOf } from '../follow/pending-activity.js';

/** A step of a run whose attempts fail. Times are milliseconds since 1970. */
export interface Retrying {
  /** When the first attempt of the step was scheduled. */
  readonly since: number;
  /** Why the last attempt failed. */
  readonly error: string;
  /** Number of failed attempts. */
  readonly attempt: number;
  /** `null`: the next attempt is running. */
  readonly nextAttemptAt: number | null;
}

/** Events that are read to find when a step was scheduled; few events follow it while it is pending. */
const EVENTS_READ = 100;

/** The retries of a workflow's current step; `null` if its last attempt did not fail. */
export async function retryingOf(
  temporal: TemporalClient,
  description: WorkflowExecutionDescription,
): Promise<Retrying | null> {
  const pending = pendingOf(description);
  const failing = failingOf(pending);
  const failure = await lastFailureOf(temporal, pending);
  if (failing === undefined || failure === null) return null;
  // A worker was lost, and another one continues its work.
  if (failure.retry === 'running' && failing.lastFailure?.timeoutFailureInfo) return null;
  const next = failing.nextAttemptScheduleTime ?? failing.scheduledTime;
  const { message: error, attempt } = failure;
  return {
    since: (await scheduledAt(temporal, description, failing.activityId ?? '')) ?? Date.now(),
    error,
    attempt,
    nextAttemptAt: failure.retry === 'running' || next == null ? null : millis(next),
  };
}

async function scheduledAt(
  { client, namespace }: TemporalClient,
  { workflowId, runId }: WorkflowExecutionDescription,
  activityId: string,
): Promise<number | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: EVENTS_READ,
  });
  const event = history?.events?.find(
    (one) => one.activityTaskScheduledEventAttributes?.activityId === activityId,
  );
  return event?.eventTime == null ? null : millis(event.eventTime);
}

function millis({ seconds, nanos }: { seconds?: unknown; nanos?: number | null }): number {
  return Number(seconds ?? 0) * 1000 + Math.round((nanos ?? 0) / 1e6);
}
