import { CancellationScope, log } from '@temporalio/workflow';
import type { ReportAlertsInput } from '../../src/core/contract/index.js';
import { activity } from './activity-options.js';
import { toRunError } from './run-errors.js';

/** Reports ended runs or a write-back for alerts, also in a cancelled workflow. Never throws: no alert fails a run. */
export async function reportAlerts({ runs, ...input }: ReportAlertsInput): Promise<void> {
  const { connection } = input;
  const report = activity('worktrack.reportAlerts', connection, 'background', {
    summary: 'report to the alerts',
  });
  const reports = runs.map(({ resource, outcome, runId, warnings, schemaChanges, error, audit }) => ({
    ...{ resource, outcome, runId, warnings, error, ...(schemaChanges && { schemaChanges }) },
    ...(audit && { audit }),
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
