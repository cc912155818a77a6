import { type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import type { EpochMs } from '../../core/brands.js';
import {
  type MirrorStatus,
  mirrorWorkflowId,
  type ReadHeartbeat,
  type StoreLimitNote,
} from '../../core/contract/index.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { currentStep } from './pending-activity.js';
import { type Silence, whySilent } from './silence.js';

/** What Temporal knows about a mirror. */
export interface MirrorRead extends Pick<ReadHeartbeat, 'waitingUntil'> {
  /** `null`: the mirror did not answer, or there is none. */
  readonly status: MirrorStatus | null;
  /** Whether a step of a run is pending, even if the mirror did not answer. */
  readonly isBusy: boolean;
  /** `null`: the last attempt of its current step did not fail. */
  readonly retrying: Retrying | null;
  /** Since when the store limits requests, and its words; `null`: it does not. */
  readonly storeLimit: StoreLimitNote | null;
  /** The command that continues a step that somebody paused in Temporal; `null` if it is not paused. */
  readonly unpause: string | null;
  /** Why the mirror did not answer; `null` if it did, or if no worker polls. */
  readonly silence: Silence | null;
}

const NOTHING: MirrorRead = {
  status: null,
  isBusy: false,
  retrying: null,
  waitingUntil: null,
  storeLimit: null,
  unpause: null,
  silence: null,
};

interface ReadMirrorOptions {
  readonly timeoutMs?: number | undefined;
  /** `false`: no worker polls, so no mirror answers. */
  readonly hasWorker: boolean | null;
}

/**
 * Reads a mirror's state. The pending steps come from the server, which knows them without a worker.
 *
 * @returns `null` if the mirror does not exist
 * @throws an SDK error if Temporal does not answer
 */
export async function readMirror(
  temporal: TemporalClient,
  connection: string,
  resource: string,
  { timeoutMs, hasWorker }: ReadMirrorOptions,
): Promise<MirrorRead | null> {
  const query = () => queryMirror(temporal, connection, resource);
  try {
    const status = hasWorker === false ? null : await withDeadline(temporal, query, timeoutMs).catch(orGone);
    if (status !== null && status.active === null) return { ...NOTHING, status };
    const isSilent = status === null && hasWorker !== false;
    const read = () => readSteps(temporal, connection, resource, isSilent);
    return { ...(await withDeadline(temporal, read, timeoutMs)), status };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Without an answer, the steps are still read; a mirror that does not exist has none. */
function orGone(error: unknown): null {
  if (error instanceof WorkflowNotFoundError) throw error;
  return null;
}

async function readSteps(
  temporal: TemporalClient,
  connection: string,
  resource: string,
  isSilent: boolean,
): Promise<Omit<MirrorRead, 'status'>> {
  const handle = temporal.client.workflow.getHandle(mirrorWorkflowId(connection, resource));
  const description = await handle.describe();
  const step = await currentStep<Partial<ReadHeartbeat>>(temporal, description);
  return {
    isBusy: step.isPending,
    retrying: await retryingOf(temporal, description, step),
    waitingUntil: step.heartbeat?.waitingUntil ?? null,
    storeLimit: step.heartbeat?.storeLimit ?? null,
    unpause: step.unpause,
    silence: isSilent ? await whySilent(temporal, description) : null,
  };
}

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

/** A step of a run whose attempts fail. */
export interface Retrying {
  /** When the first attempt of the step was scheduled. */
  readonly since: EpochMs;
  /** Why the last attempt failed. */
  readonly error: string;
  /** Number of failed attempts. */
  readonly attempt: number;
  /** `null`: the next attempt is running. */
  readonly nextAttemptAt: EpochMs | null;
}

/** Events that are read to find when a step was scheduled; few events follow it while it is pending. */
const EVENTS_READ = 100;

/** The retries of a workflow's current step; `null` if its last attempt did not fail. */
async function retryingOf(
  temporal: TemporalClient,
  description: WorkflowExecutionDescription,
  {
    failing,
    failure,
    isDeadly,
  }: Pick<Awaited<ReturnType<typeof currentStep>>, 'failing' | 'failure' | 'isDeadly'>,
): Promise<Retrying | null> {
  if (failing === undefined || failure === null) return null;
  // A worker was lost, and another one continues its work.
  if (failure.retry === 'running' && failing.lastFailure?.timeoutFailureInfo && !isDeadly) return null;
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
