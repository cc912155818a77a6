import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import { OutageTimer } from '../../core/reach.js';
import type { TemporalClient } from '../client/connect.js';
import { grpcMessage, isUnreachable } from '../client/grpc.js';
import { hasWorker } from '../status/pollers.js';
import { type AwaitOptions, EVERY_MS, endOf, pause, withCallTimeout } from './await-result.js';

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

export interface FollowWorkflowOptions<View> extends AwaitOptions {
  /** Receives the view after every refresh. Without it, nothing is refreshed, and one open request waits for the end. */
  readonly onView?: ((view: View) => void) | undefined;
}

/** A worker that has not answered a query for this long counts as absent. */
const SILENT_MS = 10_000;

/**
 * Waits for the end of a workflow, which it notices at once, and reports the progress to `onView`. Aborting `signal` stops
 * only the following; the workflow continues.
 *
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function followWorkflow<View extends FollowedView, Result>(
  temporal: TemporalClient,
  first: View,
  follower: Follower<View, Result>,
  options: FollowWorkflowOptions<View>,
): Promise<Result> {
  const { onView } = options;
  // Queries take the workers' time, and those that arrive while a workflow continues as new stop the clock of the SDK's
  // time-skipping server for good.
  if (onView === undefined) return follower.end(first);
  const following = new AbortController();
  const ended = endOf(temporal, first.workflowId, following.signal);
  try {
    return await follower.end(await view(temporal, first, { ...options, onView, ended, follower }));
  } finally {
    following.abort();
  }
}

interface ViewOptions<View extends FollowedView> extends AwaitOptions {
  readonly onView: (view: View) => void;
  readonly ended: Promise<void>;
  readonly follower: Pick<Follower<View, unknown>, 'refresh'>;
}

/** Reports the progress of a workflow until its end. Returns the last view. */
async function view<View extends FollowedView>(
  temporal: TemporalClient,
  first: View,
  options: ViewOptions<View>,
): Promise<View> {
  const { onView, ended, follower, everyMs = EVERY_MS } = options;
  const signal = options.signal ?? new AbortController().signal;
  const handle = temporal.client.workflow.getHandle(first.workflowId);
  const outage = new OutageTimer(`Temporal at ${temporal.address}`, options);
  let last = first;
  let answeredAt = performance.now();
  for (;;) {
    signal.throwIfAborted();
    try {
      const described = await withCallTimeout(temporal, () => handle.describe());
      outage.answered();
      const { taskQueue, status } = described;
      last = { ...last, taskQueue };
      if (status.name !== 'RUNNING') return last;
      const refreshed = await follower.refresh(last, described);
      if (refreshed !== null) {
        last = { ...refreshed, worker: 'present' };
        answeredAt = performance.now();
      } else {
        const silent = performance.now() - answeredAt > SILENT_MS;
        const absent = silent || !(await withCallTimeout(temporal, () => hasWorker(temporal, taskQueue)));
        last = { ...last, worker: absent ? 'absent' : last.worker };
      }
      onView(last);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      outage.failed(grpcMessage(error));
      await delay(everyMs, undefined, { signal });
      continue;
    }
    await pause(everyMs, ended, signal);
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
