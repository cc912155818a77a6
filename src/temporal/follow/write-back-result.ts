import {
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowFailedError,
} from '@temporalio/client';
import { noRows, type WriteBackResult } from '../../core/contract/write-back.js';

/**
 * The result of a batch whose workflow did not return one. The failure of a failed workflow contains the result.
 *
 * @param known the result from the workflow's `progress` query, if it has one
 * @throws the error itself if it does not mean that the batch ended
 * @example
 * const handle = temporal.client.workflow.getHandle(workflowId);
 * const result = await handle.result().catch((error: unknown) => writeBackResultOf(error, 'november', null));
 */
export function writeBackResultOf(
  error: unknown,
  batchId: string,
  known: WriteBackResult | null,
): WriteBackResult {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  if (cause instanceof ApplicationFailure && cause.type === 'WriteBackFailed') {
    const [result] = (cause.details ?? []) as WriteBackResult[];
    if (result !== undefined) return result;
  }
  if (known !== null) return known;
  const cancelled = cause instanceof CancelledFailure;
  return {
    batchId,
    outcome: cancelled ? 'cancelled' : 'failed',
    counts: noRows(),
    results: null,
    rows: 0,
    unsent: 0,
    refusals: null,
    warnings: [],
    error: cancelled ? null : { type: 'Failed', message: reasonOf(cause) },
  };
}

function reasonOf(cause: unknown): string {
  if (cause instanceof TerminatedFailure) return 'the batch was terminated; run the same command again';
  if (cause instanceof TimeoutFailure) return 'the batch exceeded its time limit';
  return cause instanceof Error ? cause.message : 'the batch failed without a message';
}
