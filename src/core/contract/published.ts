import type { RunId } from '../brands.js';
import type { DeleteDetection } from './deletes.js';
import type { CheckSummary, RunCounts, RunReport } from './runs.js';

/** The report of a published run. Its strings have no brand, so that a test can write one. */
export interface PublishedReport {
  readonly resource: string;
  readonly outcome: 'published';
  readonly runId: string;
  /** In the published snapshot, including tombstones. */
  readonly rows: number;
  readonly counts: RunCounts;
  /** Key of the snapshot's `_datapackage.json`, for `readSnapshotAt`. */
  readonly snapshot: string;
  readonly warnings: readonly string[];
  /** What is known about deletes of the resource; absent: as in `RunReport`. */
  readonly deletes?: DeleteDetection;
  /** The results of the checks; absent: the resource has none. */
  readonly checks?: CheckSummary;
  /** Of a rollback: the run whose rows it published. */
  readonly rolledBackTo?: string;
}

/**
 * The argument of the workflow in `onPublished`.
 *
 * @example
 * export async function loadWarehouse({ connection, report }: OnPublishedInput): Promise<void> {
 *   console.log(`${connection}: run ${report.runId} of ${report.resource} has ${report.rows} rows`);
 * }
 */
export interface OnPublishedInput {
  readonly connection: string;
  readonly report: PublishedReport;
}

/** The workflow to start after each published run. */
export interface OnPublishedTarget {
  /** The workflow's type. */
  readonly workflow: string;
  readonly taskQueue: string;
}

/** Input of the activity that starts the workflow once for each run. A repeated start has no effect. */
export interface StartOnPublishedInput extends OnPublishedTarget {
  readonly connection: string;
  readonly resource: string;
  /** The run that was published. The workflow starts for this run and the runs of its chain since `after`. */
  readonly runId: RunId;
  /** As `hookedTo` in the mirror's state. */
  readonly after: RunId | 'beginning' | null;
}

export interface StartedOnPublished {
  /** The last run that the workflow was started for. Also the first detail of the activity's failure. */
  readonly hookedTo: RunId;
  readonly warnings: readonly string[];
}

/** The report of a run as that of a published one; `null` for any other outcome, and for rollbacks and purges. */
export function toPublishedReport(report: RunReport): PublishedReport | null {
  const { resource, outcome, runId, rows, counts, snapshot, warnings } = report;
  if (outcome !== 'published' || runId === null || rows === null || counts === null || snapshot === null)
    return null;
  return { resource, outcome, runId, rows, counts, snapshot, warnings };
}
