import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { OutageTimer, type ReachOptions } from '../../core/reach.js';
import { hasWorker, type TemporalClient, withDeadline } from '../client/connect.js';
import { grpcMessage, isUnreachable } from '../client/grpc.js';

/** Common properties of the view of a followed workflow. */
export interface FollowedView {
  readonly workflowId: string;
  /** `absent`: no worker polls the task queue, or the workers do not answer queries. */
  readonly worker: 'unknown' | 'present' | 'absent';
  readonly taskQueue: string | null;
}

/** How to follow one type of workflow. */
interface Follower<View extends FollowedView, Result> {
  /** Queries the current view; `null` if no worker answers. */
  refresh(before: View, described: WorkflowExecutionDescription): Promise<View | null>;
  /** The result of a workflow that has ended, successfully or not. */
  end(last: View): Promise<Result>;
}

export interface FollowWorkflowOptions<View> extends ReachOptions {
  /** Interval between two refreshes, in milliseconds. Default: 500. */
  readonly everyMs?: number | undefined;
  /** Receives the view after every refresh. */
  readonly onView?: ((view: View) => void) | undefined;
}

const CALL_TIMEOUT_MS = 3_000;
/** A worker that has not answered a query for this long counts as absent. */
const SILENT_MS = 10_000;

/**
 * Waits for the end of a workflow and reports its progress. Aborting `signal` stops only the following; the workflow
 * continues.
 *
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function followWorkflow<View extends FollowedView, Result>(
  temporal: TemporalClient,
  first: View,
  { refresh, end }: Follower<View, Result>,
  options: FollowWorkflowOptions<View>,
): Promise<Result> {
  const handle = temporal.client.workflow.getHandle(first.workflowId);
  const outage = new OutageTimer(`Temporal at ${temporal.address}`, options);
  let view = first;
  let answeredAt = performance.now();
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      const described = await withCallTimeout(temporal, () => handle.describe());
      outage.answered();
      const { taskQueue, status } = described;
      view = { ...view, taskQueue };
      if (status.name !== 'RUNNING') return await end(view);
      const refreshed = await refresh(view, described);
      if (refreshed !== null) {
        view = { ...refreshed, worker: 'present' };
        answeredAt = performance.now();
      } else {
        const silent = performance.now() - answeredAt > SILENT_MS;
        const absent = silent || !(await withCallTimeout(temporal, () => hasWorker(temporal, taskQueue)));
        view = { ...view, worker: absent ? 'absent' : view.worker };
      }
      options.onView?.(view);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      outage.failed(grpcMessage(error));
    }
    await delay(options.everyMs ?? 500, undefined, { signal: options.signal });
  }
}

/** The answer of a workflow to its query `progress`; `null` if no worker answers. */
export async function queryProgress<T>(temporal: TemporalClient, workflowId: string): Promise<T | null> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  try {
    return await withCallTimeout(temporal, () => handle.query<T>('progress'));
  } catch {
    // The next call to the server shows whether the worker or the server does not answer.
    return null;
  }
}

/** The result of a workflow that has ended. @param failed converts the error of a failed workflow to a result */
export async function resultOf<T>(
  temporal: TemporalClient,
  workflowId: string,
  failed: (error: unknown) => T,
): Promise<T> {
  try {
    const handle = temporal.client.workflow.getHandle(workflowId);
    return (await withCallTimeout(temporal, () => handle.result())) as T;
  } catch (error) {
    if (isUnreachable(error)) throw error;
    return failed(error);
  }
}

/** Limits the time of one call of a refresh. */
export function withCallTimeout<T>(temporal: TemporalClient, call: () => Promise<T>): Promise<T> {
  return withDeadline(temporal, call, CALL_TIMEOUT_MS);
}
