import {
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities, ExportInput, ExportResult, RunReport } from '../src/core/contract.js';
import { Asking } from './asking.js';
import { toRunError } from './failures.js';
import { exportProgress } from './messages.js';

const { 'worktrack.planExport': planExport } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/**
 * One run over all resources of a connection, or over some: asks each resource's mirror and gathers the answers.
 * A resource that fails does not stop the others; then the export fails at its end, with every outcome in the
 * failure's details (DESIGN 3.16).
 */
export async function exportWorkflow(input: ExportInput): Promise<ExportResult> {
  const asking = new Asking(input.connection);
  const silent = new Map<string, RunReport>();
  let resources: readonly string[] = input.resources ?? [];
  const reportOf = (resource: string): RunReport | null => silent.get(resource) ?? asking.report(resource);
  setHandler(exportProgress, () => ({
    connection: input.connection,
    runs: resources.map((resource) => ({ resource, report: reportOf(resource) })),
  }));

  const plan = await planExport(input);
  resources = plan.resources;
  const wish = {
    mode: input.full === true ? 'full' : 'increment',
    // Whoever allows deletes wants them concluded, and not only on the night when a reconciliation is due.
    reconcile: input.allowDeletes === true,
    adopt: input.adopt === true,
    allowDeletes: input.allowDeletes === true,
    since: null,
    nominalStart: nominalTime(),
  } as const;
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
      await asking.ask(resource, wish, resource, plan.giveUpAfterMs);
    } catch (error) {
      if (isCancellation(error)) throw error;
      const nothing = { runId: null, rows: null, counts: null, snapshot: null, warnings: [] };
      silent.set(resource, { resource, outcome: 'failed', ...nothing, error: toRunError(error) });
    }
  }
}

/** The result of an export all of whose runs were published. @throws ApplicationFailure with the result of any other */
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

/** The Schedule's time where a Schedule started this run, else now; milliseconds since 1970. */
function nominalTime(): number {
  const [scheduled] = (workflowInfo().searchAttributes.TemporalScheduledStartTime ?? []) as unknown as Date[];
  return scheduled === undefined ? Date.now() : new Date(scheduled).getTime();
}
