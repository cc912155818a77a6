import {
  type ExportResult,
  type PublishedReport,
  type RunOutcome,
  type RunReport,
  toPublishedReport,
} from '../../core/contract/index.js';
import { shownBatchId, type WriteBackOutcome, type WriteBackResult } from '../../core/contract/write-back.js';
import { type ErrorCode, WorktrackError } from '../../core/errors.js';

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

const RUN_CODES = {
  failed: 'RUN_FAILED',
  refused: 'RUN_REFUSED',
  cancelled: 'RUN_CANCELLED',
  // A dry run and an audit publish nothing.
  'would-publish': 'RUN_FAILED',
  equal: 'RUN_FAILED',
  different: 'RUN_FAILED',
  'not-compared': 'RUN_FAILED',
} as const satisfies Record<Exclude<RunOutcome, 'published'>, ErrorCode>;

/**
 * An export or backfill ended without publishing every resource. `failed` has the reports of the resources that were not
 * published, each with `error.type` from `FAILURES`.
 *
 * @example
 * try {
 *   requirePublished(await followExport(temporal, workflowId));
 * } catch (error) {
 *   if (!(error instanceof RunFailedError)) throw error;
 *   for (const { resource, error: cause } of error.failed) console.error(resource, cause?.type);
 * }
 */
export class RunFailedError extends WorktrackError {
  readonly code: (typeof RUN_CODES)[keyof typeof RUN_CODES];
  readonly failed: readonly RunReport[];

  constructor(
    outcome: Exclude<RunOutcome, 'published'>,
    readonly result: ExportResult,
  ) {
    const failed = result.runs.filter((run) => run.outcome !== 'published');
    super(failed.map(lineOf).join('\n') || `the run was not published (${outcome})`);
    this.code = RUN_CODES[outcome];
    this.failed = failed;
  }
}

function lineOf({ resource, outcome, error }: RunReport): string {
  return error === null ? `${resource}: ${outcome}` : `${resource}: ${outcome}. ${error.message}`;
}

const BATCH_CODES = {
  ...RUN_CODES,
  incomplete: 'WRITE_BACK_INCOMPLETE',
} as const satisfies Record<Exclude<WriteBackOutcome, 'written'>, ErrorCode>;

/**
 * A batch ended without writing every row. `result` has the counts and the key of the receipts.
 *
 * @example
 * try {
 *   requireWritten(await followWriteBack(temporal, workflowId));
 * } catch (error) {
 *   if (!(error instanceof WriteBackFailedError)) throw error;
 *   console.error(error.code, error.result.counts.rejected, error.result.results);
 * }
 */
export class WriteBackFailedError extends WorktrackError {
  readonly code: (typeof BATCH_CODES)[keyof typeof BATCH_CODES];

  constructor(
    outcome: Exclude<WriteBackOutcome, 'written'>,
    readonly result: WriteBackResult,
  ) {
    const { rejected, unknown } = result.counts;
    const rows = `${rejected} rejected, ${unknown} unknown, ${result.unsent} not sent`;
    super(
      `batch ${shownBatchId(result.batchId)}: ${outcome} (${rows})${result.error === null ? '' : `. ${result.error.message}`}`,
      {
        remedy:
          result.results === null ? null : `The receipts in ${result.results} have the reason for each row.`,
      },
    );
    this.code = BATCH_CODES[outcome];
  }
}
