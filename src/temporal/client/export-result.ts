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
export function exportResultOf(
  error: unknown,
  views: readonly (Pick<RunReport, 'resource' | 'runId'> & { readonly report: RunReport | null })[],
): ExportResult {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  const result = resultIn<ExportResult>(error, 'ExportFailed');
  if (result !== null) return result;
  const why = cause instanceof CancelledFailure ? null : reasonOf(cause, 'the export', 'start a new one');
  const outcome = why === null ? 'cancelled' : FAILURES[why.type].outcome;
  const nothing = { rows: null, counts: null, snapshot: null, warnings: [] };
  const runs = views.map(
    ({ resource, runId, report }): RunReport =>
      report ?? { resource, outcome, runId, ...nothing, error: why },
  );
  return { outcome, runs };
}

/** The result in the failure of a workflow of ours that failed after it had one; `null` if there is none. */
export function resultIn<Result>({ cause }: WorkflowFailedError, type: string): Result | null {
  if (!(cause instanceof ApplicationFailure) || cause.type !== type) return null;
  return (cause.details?.[0] as Result | undefined) ?? null;
}

/** Why a workflow ended without a result. @param remedy what to do after a termination */
export function reasonOf(cause: unknown, what: string, remedy: string): RunError {
  if (cause instanceof TerminatedFailure)
    return { type: 'Failed', message: `${what} was terminated; ${remedy}` };
  if (cause instanceof TimeoutFailure) return { type: 'Failed', message: `${what} exceeded its time limit` };
  const inner = cause instanceof ActivityFailure && cause.cause !== undefined ? cause.cause : cause;
  return {
    type: runErrorType(inner instanceof ApplicationFailure ? inner.type : null),
    message: inner instanceof Error ? inner.message : `${what} failed without a message`,
  };
}
