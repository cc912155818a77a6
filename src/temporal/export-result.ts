import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowFailedError,
} from '@temporalio/client';
import type { ExportResult, FailureType, RunError, RunReport } from '../core/contract.js';
import type { ResourceView } from './export-view.js';

const FAILURE_TYPES: Readonly<Record<FailureType, true>> = {
  Refused: true,
  Configuration: true,
  Transient: true,
  BrokenPromise: true,
  Lake: true,
  Displaced: true,
  NotAddingUp: true,
};

/**
 * What became of an export that did not return a result. A failed one carries every outcome in its failure; for one
 * that was cancelled or ended in another way, what is known of each resource is taken.
 *
 * @param views where the resources stood last
 * @throws the error itself when it does not tell of the export's end
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
    return { type: 'Failed', message: 'the export was terminated by hand; start another one' };
  }
  if (cause instanceof TimeoutFailure)
    return { type: 'Failed', message: 'the export ran out of its time limit' };
  const inner = cause instanceof ActivityFailure && cause.cause !== undefined ? cause.cause : cause;
  const type = inner instanceof ApplicationFailure ? (inner.type ?? '') : '';
  return {
    type: Object.hasOwn(FAILURE_TYPES, type) ? (type as FailureType) : 'Failed',
    message: inner instanceof Error ? inner.message : 'the export failed and does not say why',
  };
}
