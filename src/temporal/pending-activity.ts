import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import type { TemporalClient } from './connect.js';
import { decodePayload, failureMessage } from './payloads.js';

/** An activity that has not ended, as the server tells of it. */
export type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** What the last attempt of an activity failed with. */
export interface Trouble {
  readonly message: string;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Whether the next one is still waited for. */
  readonly retry: 'running' | 'waiting';
}

/** `PENDING_ACTIVITY_STATE_STARTED`: a worker has the attempt. */
const STARTED = 2;

export function pendingOf({ raw }: WorkflowExecutionDescription): readonly PendingActivity[] {
  return raw.pendingActivities ?? [];
}

/** What an activity said in its last heartbeat; `null` before the first. */
export async function heartbeatOf<T>(
  temporal: TemporalClient,
  activity: PendingActivity | undefined,
): Promise<T | null> {
  const [first] = activity?.heartbeatDetails?.payloads ?? [];
  return first === undefined ? null : decodePayload<T>(temporal.client, first as Payload);
}

/** Of the first activity whose last attempt failed; `null` when all is right. */
export async function troubleOf(
  temporal: TemporalClient,
  pending: readonly PendingActivity[],
): Promise<Trouble | null> {
  const failing = pending.find(({ lastFailure }) => lastFailure?.message);
  if (failing === undefined) return null;
  const message = await failureMessage(temporal.client, failing.lastFailure!);
  const attempt = Math.max(1, (failing.attempt ?? 2) - 1);
  return { message, attempt, retry: failing.state === STARTED ? 'running' : 'waiting' };
}
