import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { TemporalClient } from './connect.js';
import { grpcMessage, isUnreachable } from './grpc.js';
import { Patience, type ReachOptions } from './reach.js';
import { hasWorker } from './task-queue.js';

/** What is known of a workflow that is being followed. */
export interface FollowedView {
  readonly workflowId: string;
  /** `absent`: nobody polls the task queue, or who does answers nothing. */
  readonly worker: 'unknown' | 'present' | 'absent';
  readonly taskQueue: string | null;
}

/** How one kind of workflow is followed. */
export interface Follower<View extends FollowedView, Result> {
  /** Where it stands now, by its own account; `null` when no worker answers. */
  look(before: View, described: WorkflowExecutionDescription): Promise<View | null>;
  /** What has become of it, once it has ended in whatever way. */
  end(last: View): Promise<Result>;
}

export interface FollowWorkflowOptions<View> extends ReachOptions {
  /** Between two looks, in milliseconds. Default: 500. */
  readonly everyMs?: number | undefined;
  /** Hears where the workflow stands, at every look. */
  readonly onView?: ((view: View) => void) | undefined;
}

const ASK_MS = 3_000;
/** A worker that has not answered a query for so long does not work. */
const SILENT_MS = 10_000;

/**
 * Waits for the end of a workflow and tells where it stands meanwhile. The workflow does not depend on being followed:
 * aborting `signal` leaves it running.
 *
 * @throws OutOfReachError when Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function followWorkflow<View extends FollowedView, Result>(
  temporal: TemporalClient,
  first: View,
  { look, end }: Follower<View, Result>,
  options: FollowWorkflowOptions<View>,
): Promise<Result> {
  const handle = temporal.client.workflow.getHandle(first.workflowId);
  const patience = new Patience(`Temporal at ${temporal.address}`, options);
  let view = first;
  let answeredAt = performance.now();
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      const described = await ask(temporal, () => handle.describe());
      patience.answered();
      const { taskQueue, status } = described;
      view = { ...view, taskQueue };
      if (status.name !== 'RUNNING') return await end(view);
      const looked = await look(view, described);
      if (looked !== null) {
        view = { ...looked, worker: 'present' };
        answeredAt = performance.now();
      } else {
        const silent = performance.now() - answeredAt > SILENT_MS;
        const absent = silent || !(await ask(temporal, () => hasWorker(temporal, taskQueue)));
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

/** What a workflow answers to its query `progress`; `null` when no worker answers. */
export async function askProgress<T>(temporal: TemporalClient, workflowId: string): Promise<T | null> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  try {
    return await ask(temporal, () => handle.query<T>('progress'));
  } catch {
    // Whether it is the worker or the server that is silent shows at the next question to the server.
    return null;
  }
}

/** Result of a workflow that has ended. @param failed makes one of the error that it ended with */
export async function resultOf<T>(
  temporal: TemporalClient,
  workflowId: string,
  failed: (error: unknown) => T,
): Promise<T> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowId);
    return (await ask(temporal, () => handle.result())) as T;
  } catch (error) {
    if (isUnreachable(error)) throw error;
    return failed(error);
  }
}

/** Bounds a call to the server: a query waits for a worker otherwise. */
export function ask<T>(temporal: TemporalClient, call: () => Promise<T>): Promise<T> {
  return temporal.client.connection.withDeadline(Date.now() + ASK_MS, call);
}
