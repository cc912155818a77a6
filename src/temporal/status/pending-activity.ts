import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { activityFacts } from '../../core/contract/activity-table.js';
import type { TemporalClient } from '../client/connect.js';
import { decodePayload, failureMessage } from '../client/payloads.js';

/** A pending activity in the server's format. */
type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The failure of the last attempt of an activity. */
export interface AttemptFailure {
  readonly message: string;
  /** Number of the failed attempt, starting at 1. */
  readonly attempt: number;
  /** Whether the next attempt is running or still waiting. */
  readonly retry: 'running' | 'waiting';
}

/** The activity that reads the list; otherwise the first one. Its heartbeat has the details `ReadHeartbeat`. */
export function readingOf(pending: readonly PendingActivity[]): PendingActivity | undefined {
  return pending.find(({ activityType }) => activityFacts(activityType?.name ?? '')?.isReading) ?? pending[0];
}

/** `PENDING_ACTIVITY_STATE_STARTED`: a worker is executing the attempt. */
const STARTED = 2;

export function pendingOf({ raw }: WorkflowExecutionDescription): readonly PendingActivity[] {
  return raw.pendingActivities ?? [];
}

/** The details of an activity's last heartbeat; `null` before the first. */
export async function heartbeatOf<T>(
  temporal: TemporalClient,
  activity: PendingActivity | undefined,
): Promise<T | null> {
  const [first] = activity?.heartbeatDetails?.payloads ?? [];
  return first === undefined ? null : decodePayload<T>(temporal.client, first as Payload);
}

/** The first activity whose last attempt failed. */
export function failingOf(pending: readonly PendingActivity[]): PendingActivity | undefined {
  return pending.find(({ lastFailure }) => lastFailure?.message);
}

/** The failure of the first activity whose last attempt failed; `null` if there is none. */
export async function lastFailureOf(
  temporal: TemporalClient,
  pending: readonly PendingActivity[],
): Promise<AttemptFailure | null> {
  const failing = failingOf(pending);
  if (failing === undefined) return null;
  const message = await failureMessage(temporal.client, failing.lastFailure!);
  const attempt = Math.max(1, (failing.attempt ?? 2) - 1);
  return { message, attempt, retry: failing.state === STARTED ? 'running' : 'waiting' };
}
