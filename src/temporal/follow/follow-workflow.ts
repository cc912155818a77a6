import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type WorkflowExecutionDescription, WorkflowFailedError } from '@temporalio/client';
import type { Millis } from '../../core/brands.js';
import { OutageTimer, type ReachOptions } from '../../core/reachability.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { isUnreachable, outageReason } from '../client/grpc.js';
import { type Silence, whySilent } from '../status/silence.js';

/** Common properties of the view of a followed workflow. */
export interface FollowedView {
  readonly workflowId: string;
  /** Whether a worker answers, or why none does. */
  readonly worker: 'unknown' | 'present' | Silence;
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

/** A worker that has not answered for this long is silent, ms. */
export const SILENT_MS = 10_000;

/**
 * Waits for the end of a workflow, which it notices immediately, and reports the progress to `onView`. Aborting `signal` stops
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
  // Queries take the workers' time, and those that arrive while a workflow continues as new stop the clock of the SDK's
  // time-skipping server for good.
  if (options.onView === undefined) return follower.end(first);
  const following = new AbortController();
  const ended = endOf(temporal, first.workflowId, following.signal);
  try {
    return await follower.end(await view(temporal, first, follower, ended, options));
  } finally {
    following.abort();
  }
}

/** Reports the progress of a workflow until its end. Returns the last view. */
async function view<View extends FollowedView>(
  temporal: TemporalClient,
  first: View,
  follower: Pick<Follower<View, unknown>, 'refresh'>,
  ended: Promise<void>,
  options: FollowWorkflowOptions<View>,
): Promise<View> {
  const { onView, everyMs = EVERY_MS } = options;
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
      if (described.status.name !== 'RUNNING') return last;
      const refreshed = await follower.refresh(last, described);
      if (refreshed !== null) {
        last = { ...refreshed, worker: 'present' };
        answeredAt = performance.now();
      } else {
        const known = typeof last.worker === 'string' ? null : last.worker;
        const silence = await withCallTimeout(temporal, () => whySilent(temporal, described, known));
        // A worker that has just started gets the same time to answer.
        if (silence.kind !== 'busy') answeredAt = performance.now();
        const isBusy = silence.kind === 'busy' && performance.now() - answeredAt <= SILENT_MS;
        if (!isBusy) last = { ...last, worker: silence };
      }
      onView?.(last);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      outage.failed(outageReason(error));
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

/** Between two refreshes, ms. */
const EVERY_MS = 500;
const CALL_TIMEOUT_MS = 3_000;

/** How to wait for a workflow. */
interface AwaitOptions extends ReachOptions {
  /** Interval between two refreshes, and between two requests to a server that does not answer. Default: 500. */
  readonly everyMs?: Millis | undefined;
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
  const waiting = ofOneWait(signal);
  const outage = new OutageTimer(`Temporal at ${temporal.address}`, options);
  const handle = temporal.client.workflow.getHandle(workflowId);
  for (let isOut = false; ; isOut = true) {
    signal.throwIfAborted();
    try {
      return await connection.withAbortSignal(waiting, async () => {
        if (isOut) {
          // Unlike the result, this answers immediately, and thereby ends the outage.
          await withCallTimeout(temporal, () => handle.describe());
          outage.answered();
        }
        return (await handle.result()) as T;
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof WorkflowFailedError) return failed(error);
      if (!isUnreachable(error)) throw error;
      outage.failed(outageReason(error));
    }
    await delay(options.everyMs ?? EVERY_MS, undefined, { signal });
  }
}

/** Resolves when the workflow ends. Never rejects: if the request is lost, it stays pending. */
export function endOf({ client }: TemporalClient, workflowId: string, signal: AbortSignal): Promise<void> {
  const result = () => client.workflow.getHandle(workflowId).result();
  return new Promise((resolve) => {
    client.connection.withAbortSignal(ofOneWait(signal), result).then(
      () => resolve(),
      (error) => error instanceof WorkflowFailedError && resolve(),
    );
  });
}

/**
 * The signal for one wait. Temporal's client adds a listener for each of its requests, one about every twenty seconds, and
 * leaves it there. From the eleventh on, Node would warn of a leak (MaxListenersExceededWarning).
 */
function ofOneWait(signal: AbortSignal): AbortSignal {
  const own = AbortSignal.any([signal]);
  setMaxListeners(0, own);
  return own;
}

/** Waits for a time, or less if the workflow ends. */
async function pause(ms: number, ended: Promise<void>, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([ended, delay(ms, undefined, { signal: AbortSignal.any([signal, over.signal]) })]);
  } finally {
    over.abort();
  }
}

/** Limits the time of one call of a refresh. */
export function withCallTimeout<T>(temporal: TemporalClient, call: () => Promise<T>): Promise<T> {
  return withDeadline(temporal, call, CALL_TIMEOUT_MS);
}
