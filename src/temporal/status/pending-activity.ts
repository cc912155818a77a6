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

/** What the server knows of a workflow's current step, even without a worker. */
interface CurrentStep<Heartbeat> {
  readonly isPending: boolean;
  /** The last heartbeat of the activity that reads the list, otherwise of the first one; `null` before the first. */
  readonly heartbeat: Heartbeat | null;
  /** The first activity whose last attempt failed. */
  readonly failing: PendingActivity | undefined;
  /** Its failure; `null` if there is none. */
  readonly failure: AttemptFailure | null;
  /** Whether at least three attempts have ended, the last one with its worker. */
  readonly isDeadly: boolean;
  /** The command that continues an activity that somebody paused in Temporal; `null` if none is paused. */
  readonly unpause: string | null;
}

/** Attempts that end without a heartbeat before they look like the work of the step itself. */
const SUSPICIOUS_DEATHS = 3;

/** How many attempts of a step have ended, if the last one ended with its worker; 0 for fewer than three. */
function deathsAt({ attempt, state, lastFailure }: PendingActivity): number {
  if (!lastFailure?.timeoutFailureInfo) return 0;
  const ended = (attempt ?? 1) - (state === STARTED ? 1 : 0);
  return ended >= SUSPICIOUS_DEATHS ? ended : 0;
}

function deathsText({ lastWorkerIdentity }: PendingActivity, deaths: number): string {
  const last = lastWorkerIdentity ? ` (the last worker: ${lastWorkerIdentity})` : '';
  return (
    `${deaths} attempts of this step have ended, the last one because its worker was lost${last}. ` +
    'If workers are killed at this step, they usually lack memory: see their exit codes, give them more, ' +
    'or set a smaller sync.pageSize'
  );
}

/** `PENDING_ACTIVITY_STATE_STARTED`: a worker is executing the attempt. */
const STARTED = 2;

/** Reads the current step of a workflow from its description. */
export async function currentStep<Heartbeat>(
  { client }: TemporalClient,
  { raw, workflowId }: WorkflowExecutionDescription,
): Promise<CurrentStep<Heartbeat>> {
  const pending = raw.pendingActivities ?? [];
  const reading = pending.find(({ activityType }) => activityFacts(activityType?.name ?? '')?.isReading);
  const [details] = (reading ?? pending[0])?.heartbeatDetails?.payloads ?? [];
  const failing = pending.find(({ lastFailure }) => lastFailure?.message);
  const deaths = failing === undefined ? 0 : deathsAt(failing);
  const paused = pending.find((one) => one.paused === true);
  return {
    isPending: pending.length > 0,
    heartbeat: details === undefined ? null : await decodePayload<Heartbeat>(client, details as Payload),
    failing,
    failure: failing
      ? {
          message:
            deaths > 0 ? deathsText(failing, deaths) : await failureMessage(client, failing.lastFailure!),
          attempt: Math.max(1, (failing.attempt ?? 2) - 1),
          retry: failing.state === STARTED ? 'running' : 'waiting',
        }
      : null,
    isDeadly: deaths > 0,
    unpause:
      paused === undefined
        ? null
        : `temporal activity unpause --workflow-id ${workflowId} --activity-id ${paused.activityId}`,
  };
}
