import type { DeleteDetection } from './deletes.js';
import type { RunCounts, RunReport } from './runs.js';

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
}

/**
 * The argument of the workflow that `onPublished` names.
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
  /** Oldest first. Earlier runs whose workflow could not be started come before the current one. */
  readonly reports: readonly PublishedReport[];
}

/** First detail of the activity's failure. The other runs have their workflow. */
export interface UnstartedRuns {
  /** Ids of runs. */
  readonly unstarted: readonly string[];
}

/** The report of a run as that of a published one; `null` for any other outcome, and for rollbacks and purges. */
export function toPublishedReport(report: RunReport): PublishedReport | null {
  const { resource, outcome, runId, rows, counts, snapshot, warnings } = report;
  if (outcome !== 'published' || runId === null || rows === null || counts === null || snapshot === null)
    return null;
  return { resource, outcome, runId, rows, counts, snapshot, warnings };
}
