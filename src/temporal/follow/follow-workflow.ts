import { setTimeout as delay } from 'node:timers/promises';
import { type WorkflowExecutionDescription, WorkflowFailedError } from '@temporalio/client';
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
  /** Waits for the end (`awaitResult`). Returns the result, also of a workflow that failed. */
  end(last: View): Promise<Result>;
}

interface AwaitOptions extends ReachOptions {
  /** Interval between two refreshes, and between two requests to a server that does not answer, in milliseconds. Default: 500. */
  readonly everyMs?: number | undefined;
}

export interface FollowWorkflowOptions<View> extends AwaitOptions {
  /** Receives the view after every refresh. Without it, nothing is refreshed, and one open request waits for the end. */
  readonly onView?: ((view: View) => void) | undefined;
}

const EVERY_MS = 500;
const CALL_TIMEOUT_MS = 3_000;
/** A worker that has not answered a query for this long counts as absent. */
const SILENT_MS = 10_000;

/**
 * Waits for the end of a workflow, and reports its progress to `onView`. Aborting `signal` stops only the following; the
 * workflow continues.
 *
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function followWorkflow<View extends FollowedView, Result>(
  temporal: TemporalClient,
  first: View,
  { refresh, end }: Follower<View, Result>,
  options: FollowWorkflowOptions<View>,
): Promise<Result> {
  const { onView } = options;
  // Queries take the workers' time, and those that arrive while a workflow continues as new stop the clock of the SDK's
  // time-skipping server for good.
  if (onView === undefined) return end(first);
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
      if (status.name !== 'RUNNING') break;
      const refreshed = await refresh(view, described);
      if (refreshed !== null) {
        view = { ...refreshed, worker: 'present' };
        answeredAt = performance.now();
      } else {
        const silent = performance.now() - answeredAt > SILENT_MS;
        const absent = silent || !(await withCallTimeout(temporal, () => hasWorker(temporal, taskQueue)));
        view = { ...view, worker: absent ? 'absent' : view.worker };
      }
      onView(view);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      outage.failed(grpcMessage(error));
    }
    await delay(options.everyMs ?? EVERY_MS, undefined, { signal: options.signal });
  }
  return end(view);
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

/**
 * Waits for the end of a workflow with one open request.
 *
 * @param failed converts the failure of the workflow to a result
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function awaitResult<T>(
  temporal: TemporalClient,
  workflowId: string,
  options: AwaitOptions,
  failed: (failure: WorkflowFailedError) => T | Promise<T>,
): Promise<T> {
  const { connection } = temporal.client;
  const signal = options.signal ?? new AbortController().signal;
  const outage = new OutageTimer(`Temporal at ${temporal.address}`, options);
  const handle = temporal.client.workflow.getHandle(workflowId);
  for (;;) {
    signal.throwIfAborted();
    try {
      return await connection.withAbortSignal(signal, async () => {
        // Unlike the result, this answers at once, and thereby ends an outage.
        await withCallTimeout(temporal, () => handle.describe());
        outage.answered();
        return (await handle.result()) as T;
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof WorkflowFailedError) return failed(error);
      if (!isUnreachable(error)) throw error;
      outage.failed(grpcMessage(error));
    }
    await delay(options.everyMs ?? EVERY_MS, undefined, { signal });
  }
}

/** Limits the time of one call of a refresh. */
export function withCallTimeout<T>(temporal: TemporalClient, call: () => Promise<T>): Promise<T> {
  return withDeadline(temporal, call, CALL_TIMEOUT_MS);
}
