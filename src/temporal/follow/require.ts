import { type ExportResult, type PublishedReport, toPublishedReport } from '../../core/contract/index.js';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { RunFailedError, WriteBackFailedError } from './run-failed-error.js';

/**
 * Returns the reports of an export or backfill that published every resource.
 *
 * @throws RunFailedError if a resource was not published
 * @example
 * const runs = requirePublished(await followExport(temporal, workflowId));
 * const rows = runs.reduce((sum, run) => sum + run.rows, 0);
 */
export function requirePublished(result: ExportResult): readonly PublishedReport[] {
  if (result.outcome !== 'published') throw new RunFailedError(result.outcome, result);
  return result.runs.map((run) => {
    const published = toPublishedReport(run);
    if (published === null) throw new RunFailedError('failed', result);
    return published;
  });
}

/**
 * Returns the result of a batch whose rows were all written.
 *
 * @throws WriteBackFailedError if a row was not written
 * @example
 * const { counts } = requireWritten(await followWriteBack(temporal, workflowId));
 * console.log(counts.created);
 */
export function requireWritten(result: WriteBackResult): WriteBackResult {
  if (result.outcome !== 'written') throw new WriteBackFailedError(result.outcome, result);
  return result;
}
