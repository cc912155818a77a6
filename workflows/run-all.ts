import { ApplicationFailure, isCancellation, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities, ExportInput, ExportResult, RunReport } from '../src/core/contract.js';
import { Asking, type Wish } from './asking.js';
import { exportDetails, showDetails } from './details.js';
import { toRunError } from './failures.js';
import { exportProgress } from './messages.js';

const { 'worktrack.planExport': planExport } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  summary: 'which resources',
});

/**
 * Asks the mirrors of some or all resources for the same, at once, and gathers their answers. A resource that fails
 * does not stop the others (DESIGN 3.16).
 *
 * @throws ApplicationFailure `ExportFailed` at the end when a run was not published, with every outcome in its details
 */
export async function runAll(
  { connection, resources: wanted }: Pick<ExportInput, 'connection' | 'resources'>,
  wish: Wish,
): Promise<ExportResult> {
  const asking = new Asking(connection);
  const silent = new Map<string, RunReport>();
  let resources: readonly string[] = wanted ?? [];
  const reportOf = (resource: string): RunReport | null => silent.get(resource) ?? asking.report(resource);
  const progress = () => ({
    connection,
    runs: resources.map((resource) => ({ resource, report: reportOf(resource) })),
  });
  setHandler(exportProgress, progress);

  const plan = await planExport({ connection, ...(wanted === undefined ? {} : { resources: wanted }) });
  resources = plan.resources;
  showDetails(exportDetails(progress()));
  try {
    await Promise.all(resources.map((resource) => askOrFail(resource)));
  } catch (error) {
    if (isCancellation(error)) await asking.withdrawAll();
    throw error;
  }
  return concluded(resources.map((resource) => reportOf(resource)!));

  /** A mirror that cannot be asked is that resource's failure, and no other's. */
  async function askOrFail(resource: string): Promise<void> {
    try {
      const asked =
        wish.kind === 'run' && plan.notify !== undefined ? { ...wish, notify: plan.notify } : wish;
      await asking.ask(resource, asked, resource, plan.giveUpAfterMs);
    } catch (error) {
      if (isCancellation(error)) throw error;
      const nothing = { runId: null, rows: null, counts: null, snapshot: null, warnings: [] };
      silent.set(resource, { resource, outcome: 'failed', ...nothing, error: toRunError(error) });
    }
    showDetails(exportDetails(progress()));
  }
}

function concluded(runs: readonly RunReport[]): ExportResult {
  const worst = (['refused', 'failed', 'cancelled'] as const).find((bad) =>
    runs.some((run) => run.outcome === bad),
  );
  if (worst === undefined) return { outcome: 'published', runs };
  const result: ExportResult = { outcome: worst, runs };
  throw ApplicationFailure.create({
    type: 'ExportFailed',
    nonRetryable: true,
    message: runs
      .flatMap((run) => (run.error === null ? [] : [named(run.resource, run.error.message)]))
      .join('\n'),
    details: [result],
  });
}

/** Most messages name their resource themselves. */
function named(resource: string, message: string): string {
  return message.includes(resource) ? message : `${resource}: ${message}`;
}
