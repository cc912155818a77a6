import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowFailedError,
} from '@temporalio/client';
import { type ExportResult, type RunError, type RunReport, toErrorType } from '../../core/contract/index.js';
import type { ResourceView } from './export-view.js';

/**
 * The result of an export that did not return one. The failure of a failed export contains all outcomes; for an export
 * that was cancelled or ended in another way, the last views of the resources are used.
 *
 * @param views the last views of the resources
 * @throws the error itself if it does not mean that the export ended
 */
export function exportResultOf(error: unknown, views: readonly ResourceView[]): ExportResult {
  if (!(error instanceof WorkflowFailedError)) throw error;
  const { cause } = error;
  if (cause instanceof ApplicationFailure && cause.type === 'ExportFailed') {
    const [result] = (cause.details ?? []) as ExportResult[];
    if (result !== undefined) return result;
  }
  const cancelled = cause instanceof CancelledFailure;
  const why = cancelled ? null : reasonOf(cause);
  const runs = views.map((view) => view.report ?? unfinished(view, why));
  return { outcome: cancelled ? 'cancelled' : why?.type === 'Refused' ? 'refused' : 'failed', runs };
}

function unfinished({ resource, runId }: ResourceView, error: RunError | null): RunReport {
  const outcome = error === null ? 'cancelled' : error.type === 'Refused' ? 'refused' : 'failed';
  return { resource, outcome, runId, rows: null, counts: null, snapshot: null, warnings: [], error };
}

function reasonOf(cause: unknown): RunError {
  if (cause instanceof TerminatedFailure) {
    return { type: 'Failed', message: 'the export was terminated; start a new one' };
  }
  if (cause instanceof TimeoutFailure)
    return { type: 'Failed', message: 'the export exceeded its time limit' };
  const inner = cause instanceof ActivityFailure && cause.cause !== undefined ? cause.cause : cause;
  return {
    type: toErrorType(inner instanceof ApplicationFailure ? inner.type : null),
    message: inner instanceof Error ? inner.message : 'the export failed without a message',
  };
}
