import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import { OutageTimer, type ReachOptions } from '../../core/reach.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { grpcMessage, isUnreachable } from '../client/grpc.js';

/** Between two refreshes, ms. */
export const EVERY_MS = 500;
const CALL_TIMEOUT_MS = 3_000;

/** How to wait for a workflow. */
export interface AwaitOptions extends ReachOptions {
  /** Interval between two refreshes, and between two requests to a server that does not answer, in milliseconds. Default: 500. */
  readonly everyMs?: number | undefined;
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
          // Unlike the result, this answers at once, and thereby ends the outage.
          await withCallTimeout(temporal, () => handle.describe());
          outage.answered();
        }
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
export async function pause(ms: number, ended: Promise<void>, signal: AbortSignal): Promise<void> {
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
