import { workflowInfo } from '@temporalio/workflow';
import type { ExportInput, ExportResult } from '../src/core/contract.js';
import { runAll } from './run-all.js';

/**
 * One run over all resources of a connection, or over some; what a Schedule starts.
 *
 * @throws ApplicationFailure `ExportFailed` when a resource was not published, with every outcome in its details
 */
export async function exportWorkflow(input: ExportInput): Promise<ExportResult> {
  return runAll(input, {
    kind: 'run',
    mode: input.full === true ? 'full' : 'increment',
    // Whoever allows deletes wants them concluded, and not only on the night when a reconciliation is due.
    reconcile: input.allowDeletes === true,
    adopt: input.adopt === true,
    allowDeletes: input.allowDeletes === true,
    since: null,
    nominalStart: nominalTime(),
  });
}

/** The Schedule's time where a Schedule started this run, else now; milliseconds since 1970. */
function nominalTime(): number {
  const [scheduled] = (workflowInfo().searchAttributes.TemporalScheduledStartTime ?? []) as unknown as Date[];
  return scheduled === undefined ? Date.now() : new Date(scheduled).getTime();
}
