import { ApplicationFailure, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import type {
  Activities,
  ExportInput,
  ExportProgress,
  ExportResult,
  RunReport,
} from '../../src/core/contract/index.js';
import type { RequestSpec } from '../../src/core/mirror-requests.js';
import { cutText, limitReports } from '../../src/core/text-budget.js';
import { reportAlerts } from '../shared/alerts.js';
import { exportDetails, showDetails } from '../shared/details.js';
import { failedReport } from '../shared/failures.js';
import { exportProgress } from '../shared/messages.js';
import { priorityOf, workOf } from '../shared/priority.js';
import { MirrorRequester } from './mirror-requester.js';

/** Most bytes of the messages of all resources together. The details of the failure have each of them. */
const MAX_SUMMARY_BYTES = 16_000;

/** Attempts are limited, and not the time: with many connections, it can take long until a worker is free. */
const PLAN = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 20 },
  summary: 'list the resources',
} as const;

/**
 * Sends the same request to the mirrors of all resources, or of the given ones, in parallel, and collects their reports.
 * A resource that fails does not stop the others (docs/explanation/guarantees.md#partial-failure).
 *
 * @throws ApplicationFailure `ExportFailed` at the end if a run was not published, with every outcome in its details
 */
export async function requestRuns(
  { connection, resources: wanted, together }: Pick<ExportInput, 'connection' | 'resources' | 'together'>,
  spec: RequestSpec,
): Promise<ExportResult> {
  const requester = new MirrorRequester(connection);
  const unanswered = new Map<string, RunReport>();
  let resources: readonly string[] = wanted ?? [];
  const reportOf = (resource: string): RunReport | null =>
    unanswered.get(resource) ?? requester.report(resource);
  const progress = () => ({
    connection,
    runs: resources.map((resource) => ({ resource, report: reportOf(resource) })),
  });
  setHandler(exportProgress, () => limitProgress(progress()));

  const work = spec.kind === 'run' ? workOf(spec) : 'manual';
  const priority = priorityOf(connection, work);
  const { 'worktrack.planExport': planExport } = proxyActivities<Activities>({ ...PLAN, priority });
  const plan = await planExport({ connection, ...(wanted === undefined ? {} : { resources: wanted }) });
  resources = plan.resources;
  showDetails(exportDetails(progress()));
  try {
    await Promise.all(resources.map((resource) => requestOrFail(resource)));
  } catch (error) {
    if (isCancellation(error)) await requester.withdrawAll();
    await reportRuns();
    throw error;
  }
  await reportRuns();
  return toResult(limitReports(resources.map((resource) => reportOf(resource)!)));

  /** One report for all resources, so that an outage of the service does not lead to a message for each. */
  async function reportRuns(): Promise<void> {
    if (!plan.alerts || spec.kind !== 'run') return;
    const runs = limitReports(resources.flatMap((resource) => reportOf(resource) ?? []));
    await reportAlerts({ connection, runs, ...(together === undefined ? {} : { together }) });
  }

  /** If the mirror does not answer, only this resource fails. */
  async function requestOrFail(resource: string): Promise<void> {
    try {
      const request = spec.kind === 'run' ? ({ ...spec, alertedBy: 'sender' } as const) : spec;
      await requester.request(resource, request, resource, plan.giveUpAfterMs);
    } catch (error) {
      if (isCancellation(error)) throw error;
      unanswered.set(resource, failedReport(resource, null, error));
    }
    showDetails(exportDetails(progress()));
  }
}

/** The answer to a query has the same limit as a result. */
function limitProgress({ connection, runs }: ExportProgress): ExportProgress {
  const reports = new Map(
    limitReports(runs.flatMap(({ report }) => report ?? [])).map((report) => [report.resource, report]),
  );
  return {
    connection,
    runs: runs.map(({ resource }) => ({ resource, report: reports.get(resource) ?? null })),
  };
}

function toResult(runs: readonly RunReport[]): ExportResult {
  const worst = (['refused', 'failed', 'cancelled'] as const).find((bad) =>
    runs.some((run) => run.outcome === bad),
  );
  if (worst === undefined) return { outcome: 'published', runs };
  const result: ExportResult = { outcome: worst, runs };
  throw ApplicationFailure.create({
    type: 'ExportFailed',
    nonRetryable: true,
    message: cutText(
      runs
        .flatMap((run) => (run.error === null ? [] : [withResource(run.resource, run.error.message)]))
        .join('\n'),
      MAX_SUMMARY_BYTES,
    ),
    details: [result],
  });
}

/** Prefixes the resource, unless the message already names it. */
function withResource(resource: string, message: string): string {
  return message.includes(resource) ? message : `${resource}: ${message}`;
}
