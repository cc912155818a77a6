import { ApplicationFailure, ChildWorkflowFailure } from '@temporalio/workflow';
import type { ExportResult } from '../../src/core/contract/index.js';
import type { WriteBackResult } from '../../src/core/contract/write-back.js';

/**
 * The result inside the failure of a child workflow that ran an export, backfill, rollback or purge. A workflow where
 * a resource fails throws, and its failure has the outcome of every resource.
 *
 * @throws the error itself if it has no such result, for example a cancellation
 * @example
 * const exported = await executeChild(exportWorkflow, { args: [{ connection: 'acme' }] }).catch(exportResultOfChild);
 * const failed = exported.runs.filter(({ outcome }) => outcome !== 'published');
 */
export function exportResultOfChild(error: unknown): ExportResult {
  return detailOf<ExportResult>(error, 'ExportFailed');
}

/**
 * The result inside the failure of a child workflow that wrote rows back.
 *
 * @throws the error itself if it has no such result, for example a cancellation
 * @example
 * const workflowId = writeBackWorkflowId(input);
 * const written = await executeChild(writeBackWorkflow, { workflowId, args: [input] }).catch(writeBackResultOfChild);
 * console.log(written.counts.created);
 */
export function writeBackResultOfChild(error: unknown): WriteBackResult {
  return detailOf<WriteBackResult>(error, 'WriteBackFailed');
}

/** Our own workflows write these details, so their type is known. */
function detailOf<Result>(error: unknown, type: string): Result {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : undefined;
  const details = cause instanceof ApplicationFailure && cause.type === type ? cause.details : undefined;
  if (details?.[0] === undefined) throw error;
  return details[0] as Result;
}
