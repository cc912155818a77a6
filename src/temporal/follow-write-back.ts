import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import type {
  SendHeartbeat,
  WriteBackProgress,
  WriteBackResult,
  WriteBackStage,
} from '../core/write-back-contract.js';
import type { TemporalClient } from './connect.js';
import { grpcMessage, isUnreachable } from './grpc.js';
import { Patience, type ReachOptions } from './reach.js';
import { hasWorker } from './task-queue.js';
import { writeBackResultOf } from './write-back-result.js';

/** Where a batch stands. */
export interface WriteBackView {
  readonly workflowId: string;
  readonly stage: WriteBackStage | 'waiting';
  /** `null` until the input has been read. */
  readonly rows: number | null;
  readonly done: number;
  /** Milliseconds since 1970 until which the service asked to be left alone. */
  readonly waitingUntil: number | null;
  /** What the last attempt failed with; `null` when it is all right. */
  readonly trouble: { readonly message: string; readonly attempt: number } | null;
  readonly worker: 'unknown' | 'present' | 'absent';
  readonly taskQueue: string | null;
}

export interface FollowWriteBackOptions extends ReachOptions {
  /** Between two looks, in milliseconds. Default: 500. */
  readonly everyMs?: number | undefined;
  readonly onView?: ((view: WriteBackView) => void) | undefined;
}

const ASK_MS = 3_000;
/** A worker that has not answered a query for so long does not work. */
const SILENT_MS = 10_000;

/**
 * Waits for the end of a batch and tells where it stands meanwhile. The batch does not depend on being followed:
 * aborting `signal` leaves it running.
 *
 * @returns the result, of a failed or cancelled batch too
 * @throws OutOfReachError when Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function followWriteBack(
  temporal: TemporalClient,
  workflowId: string,
  options: FollowWriteBackOptions = {},
): Promise<WriteBackResult> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const patience = new Patience(`Temporal at ${temporal.address}`, options);
  let view: WriteBackView = { ...NOTHING, workflowId };
  let answeredAt = performance.now();
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      const described = await ask(temporal, () => handle.describe());
      patience.answered();
      view = { ...view, taskQueue: described.taskQueue };
      const progress = await lookAt(temporal, workflowId);
      if (described.status.name !== 'RUNNING') return await resultOf(temporal, workflowId, progress);
      if (progress !== null) {
        answeredAt = performance.now();
        const { rows, stage, done } = progress;
        const activity = await activityOf(temporal, described, done);
        view = { ...view, rows, stage, ...activity, worker: 'present' };
      } else {
        const silent = performance.now() - answeredAt > SILENT_MS;
        const absent = silent || !(await ask(temporal, () => hasWorker(temporal, described.taskQueue)));
        view = { ...view, worker: absent ? 'absent' : view.worker };
      }
      options.onView?.(view);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      patience.failed(grpcMessage(error));
    }
    await delay(options.everyMs ?? 500, undefined, { signal: options.signal });
  }
}

const NOTHING: Omit<WriteBackView, 'workflowId'> = {
  stage: 'waiting',
  rows: null,
  done: 0,
  waitingUntil: null,
  trouble: null,
  worker: 'unknown',
  taskQueue: null,
};

async function resultOf(
  temporal: TemporalClient,
  workflowId: string,
  progress: WriteBackProgress | null,
): Promise<WriteBackResult> {
  try {
    return await ask(
      temporal,
      () => temporal.client.workflow.getHandle(workflowId).result() as Promise<WriteBackResult>,
    );
  } catch (error) {
    if (isUnreachable(error)) throw error;
    const batchId = workflowId.slice(workflowId.lastIndexOf('/') + 1);
    return writeBackResultOf(error, batchId, progress?.result ?? null);
  }
}

/** The workflow's own account, also of one that has ended; `null` when no worker answers. */
async function lookAt(temporal: TemporalClient, workflowId: string): Promise<WriteBackProgress | null> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  try {
    return await ask(temporal, () => handle.query<WriteBackProgress>('progress'));
  } catch {
    // Whether it is the worker or the server that is silent shows at the next question to the server.
    return null;
  }
}

/** What the activity under way tells in its heartbeats. */
async function activityOf(
  temporal: TemporalClient,
  { raw }: WorkflowExecutionDescription,
  done: number,
): Promise<Pick<WriteBackView, 'done' | 'waitingUntil' | 'trouble'>> {
  const [activity] = raw.pendingActivities ?? [];
  const message = activity?.lastFailure?.message;
  const attempt = (activity?.attempt ?? 1) - 1;
  const trouble = message && attempt > 0 ? { message, attempt } : null;
  let payloads = (activity?.heartbeatDetails?.payloads ?? []) as Payload[];
  const { payloadCodecs, payloadConverter } = temporal.client.options.loadedDataConverter;
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  const [payload] = payloads;
  const heartbeat =
    payload === undefined ? null : payloadConverter.fromPayload<SendHeartbeat | undefined>(payload);
  const rows = typeof heartbeat?.rows === 'number' ? heartbeat.rows : 0;
  return { done: Math.max(done, rows), waitingUntil: heartbeat?.waitingUntil ?? null, trouble };
}

/** Bounds a call to the server: a query waits for a worker otherwise. */
function ask<T>(temporal: TemporalClient, call: () => Promise<T>): Promise<T> {
  return temporal.client.connection.withDeadline(Date.now() + ASK_MS, call);
}
