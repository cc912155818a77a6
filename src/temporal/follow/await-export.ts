import { setTimeout as delay } from 'node:timers/promises';
import type { ExportResult } from '../../core/contract/index.js';
import { OutageTimer, type ReachOptions } from '../../core/reach.js';
import type { TemporalClient } from '../client/connect.js';
import { grpcMessage, isUnreachable } from '../client/grpc.js';
import { exportResultOf } from './export-result.js';
import { waitingView } from './export-view.js';

const RETRY_EVERY_MS = 1_000;

interface AwaitOptions extends ReachOptions {
  /** The expected resources, for the result of an export that ends without one. */
  readonly resources: readonly string[];
}

/**
 * Waits for the end of an export or backfill without its progress: one open request instead of several a second, so that
 * a command can wait for many. Aborting `signal` stops only the waiting.
 *
 * @returns the result, also of a failed or cancelled export
 * @throws OutOfReachError if Temporal does not answer for `timeoutMs`; the reason of `signal`; WorkflowNotFoundError
 */
export async function awaitExport(
  temporal: TemporalClient,
  workflowId: string,
  { resources, ...options }: AwaitOptions,
): Promise<ExportResult> {
  const { connection } = temporal.client;
  const signal = options.signal ?? new AbortController().signal;
  const outage = new OutageTimer(`Temporal at ${temporal.address}`, options);
  const handle = temporal.client.workflow.getHandle(workflowId);
  for (;;) {
    signal.throwIfAborted();
    try {
      return (await connection.withAbortSignal(signal, () => handle.result())) as ExportResult;
    } catch (error) {
      signal.throwIfAborted();
      if (!isUnreachable(error)) return exportResultOf(error, resources.map(waitingView));
      outage.failed(grpcMessage(error));
    }
    await delay(RETRY_EVERY_MS, undefined, { signal });
  }
}
