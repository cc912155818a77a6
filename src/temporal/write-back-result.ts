import {
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowFailedError,
} from '@temporalio/client';
import { noRows, type WriteBackResult } from '../core/write-back-contract.js';

/**
 * What became of a batch whose workflow did not return a result. A failed one carries it in its failure.
 *
 * @param known the result that the workflow itself told of, if it did
 * @throws the error itself when it does not tell of the batch's end
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
    warnings: [],
    error: cancelled ? null : { type: 'Failed', message: reasonOf(cause) },
  };
}

function reasonOf(cause: unknown): string {
  if (cause instanceof TerminatedFailure)
    return 'the batch was terminated by hand; run the same command again';
  if (cause instanceof TimeoutFailure) return 'the batch ran out of its time limit';
  return cause instanceof Error ? cause.message : 'the batch failed and does not say why';
}
