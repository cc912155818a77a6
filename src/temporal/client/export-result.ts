import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowFailedError,
} from '@temporalio/client';
import {
  type ExportResult,
  FAILURES,
  type RunError,
  type RunReport,
  runErrorType,
} from '../../core/contract/index.js';

/** What was last seen of a resource. */
type LastView = Pick<RunReport, 'resource' | 'runId'> & { readonly report: RunReport | null };

/**
 * The result of an export that did not return one. The failure of a failed export contains all outcomes; for an export
 * that was cancelled or ended in another way, the last views of the resources are used.
 *
 * @param views the last views of the resources
 * @throws the error itself if it does not mean that the export ended
 * @example
 * const handle = temporal.client.workflow.getHandle(workflowId);
 * const result = await handle.result().catch((error: unknown) => exportResultOf(error, []));
 */
export function exportResultOf(error: unknown, views: readonly LastView[]): ExportResult {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  if (cause instanceof ApplicationFailure && cause.type === 'ExportFailed') {
    const [result] = (cause.details ?? []) as ExportResult[];
    if (result !== undefined) return result;
  }
  const why = cause instanceof CancelledFailure ? null : reasonOf(cause);
  const outcome = why === null ? 'cancelled' : FAILURES[why.type].outcome;
  const nothing = { rows: null, counts: null, snapshot: null, warnings: [] };
  const runs = views.map(
    ({ resource, runId, report }): RunReport =>
      report ?? { resource, outcome, runId, ...nothing, error: why },
  );
  return { outcome, runs };
}

function reasonOf(cause: unknown): RunError {
  if (cause instanceof TerminatedFailure) {
    return { type: 'Failed', message: 'the export was terminated; start a new one' };
  }
  if (cause instanceof TimeoutFailure)
    return { type: 'Failed', message: 'the export exceeded its time limit' };
  const inner = cause instanceof ActivityFailure && cause.cause !== undefined ? cause.cause : cause;
  return {
    type: runErrorType(inner instanceof ApplicationFailure ? inner.type : null),
    message: inner instanceof Error ? inner.message : 'the export failed without a message',
  };
}
