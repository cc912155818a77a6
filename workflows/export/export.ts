import { workflowInfo } from '@temporalio/workflow';
import type { ExportInput, ExportResult } from '../../src/core/contract/index.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { requestRuns } from './request-runs.js';

/**
 * Exports all resources of a connection, or the given ones. Schedules start this workflow.
 *
 * @throws ApplicationFailure `ExportFailed` if a resource was not published, with every outcome in its details
 * @example
 * const { runs } = await executeChild(exportWorkflow, { args: [{ connection: 'acme' }] });
 */
export async function exportWorkflow(input: ExportInput): Promise<ExportResult> {
  const allowDeletes = input.allowDeletes === true;
  const scheduledAt = scheduledTime();
  const changes = {
    mode: input.full === true ? 'full' : 'increment',
    // An export that allows deletes must also detect them, even if no reconciliation is due tonight.
    reconcile: allowDeletes,
    adopt: input.adopt === true,
    allowDeletes,
    ...(input.acceptChecks === undefined ? {} : { acceptChecks: input.acceptChecks }),
    ...(scheduledAt === null ? {} : ({ background: true } as const)),
  } as const;
  return requestRuns(input, runSpec(scheduledAt ?? Date.now(), changes));
}

/** The scheduled time if a Schedule started this run; milliseconds since 1970. */
function scheduledTime(): number | null {
  const [scheduled] = (workflowInfo().searchAttributes.TemporalScheduledStartTime ?? []) as unknown as Date[];
  return scheduled === undefined ? null : new Date(scheduled).getTime();
}
