import { CancellationScope, log, proxyActivities } from '@temporalio/workflow';
import type { Activities, ReportAlertsInput } from '../../src/core/contract/index.js';
import { toRunError } from './failures.js';
import { priorityOf } from './priority.js';

/** Attempts are limited, and not the time: with many connections, it can take long until a worker is free. */
const REPORT = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: 6 },
  summary: 'report to the alerts',
} as const;

/** Reports ended runs or a write-back for alerts, also in a cancelled workflow. Never throws: no alert fails a run. */
export async function reportAlerts({ runs, ...input }: ReportAlertsInput): Promise<void> {
  const { connection } = input;
  const { 'worktrack.reportAlerts': report } = proxyActivities<Activities>({
    ...REPORT,
    priority: priorityOf(connection, 'background'),
  });
  const reports = runs.map(({ resource, outcome, runId, warnings, error }) => ({
    ...{ resource, outcome, runId, warnings, error },
  }));
  try {
    await CancellationScope.nonCancellable(() => report({ ...input, runs: reports }));
  } catch (error) {
    log.warn('ended runs could not be reported to the alerts; the runs are not affected', {
      connection,
      error: toRunError(error).message,
    });
  }
}
