import { WorkflowNotFoundError } from '@temporalio/client';
import {
  type ExtractHeartbeat,
  type MirrorStatus,
  mirrorWorkflowId,
  type StoreLimitNote,
} from '../../core/contract/index.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { queryMirror } from '../follow/mirror-view.js';
import { heartbeatOf, pendingOf, READING } from '../follow/pending-activity.js';
import { type Retrying, retryingOf } from './retrying.js';

/** What Temporal knows about a mirror. */
export interface MirrorRead {
  /** `null`: the mirror did not answer, or there is none. */
  readonly status: MirrorStatus | null;
  /** Whether a step of a run is pending, also if the mirror did not answer. */
  readonly isBusy: boolean;
  readonly retrying: Retrying | null;
  /** The time until which the service asked not to send requests, milliseconds since 1970. */
  readonly waitingUntil: number | null;
  /** Whether the store limits the requests of the current step. */
  readonly storeLimit: StoreLimitNote | null;
}

const NOTHING: MirrorRead = {
  status: null,
  isBusy: false,
  retrying: null,
  waitingUntil: null,
  storeLimit: null,
};

interface ReadMirrorOptions {
  readonly timeoutMs?: number | undefined;
  /** `false`: no worker polls, so no mirror answers. */
  readonly hasWorker: boolean | null;
}

/**
 * Reads the state of a mirror. The pending steps come from the server, which knows them without a worker.
 *
 * @returns `null` if the mirror does not exist, or Temporal does not answer
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
    return {
      ...(await withDeadline(temporal, () => readSteps(temporal, connection, resource), timeoutMs)),
      status,
    };
  } catch {
    return null;
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
): Promise<Omit<MirrorRead, 'status'>> {
  const handle = temporal.client.workflow.getHandle(mirrorWorkflowId(connection, resource));
  const description = await handle.describe();
  const pending = pendingOf(description);
  const extracting = pending.find(({ activityType }) => READING.includes(activityType?.name ?? ''));
  const heartbeat = await heartbeatOf<Partial<ExtractHeartbeat>>(temporal, extracting ?? pending[0]);
  return {
    isBusy: pending.length > 0,
    retrying: await retryingOf(temporal, description),
    waitingUntil: heartbeat?.waitingUntil ?? null,
    storeLimit: heartbeat?.storeLimit ?? null,
  };
}
