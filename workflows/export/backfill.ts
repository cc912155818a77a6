import type { BackfillInput, ExportResult } from '../../src/core/contract/index.js';
import { requestRuns } from './request-runs.js';

/**
 * Rereads everything, or everything that changed since a time. The requests queue behind nightly runs in the mirror of
 * each resource. A backfill never moves a checkpoint back (docs/explanation/architecture.md#checkpoint).
 *
 * @throws ApplicationFailure `ExportFailed` if a resource was not published, with every outcome in its details
 */
export async function backfillWorkflow(input: BackfillInput): Promise<ExportResult> {
  return requestRuns(input, {
    kind: 'run',
    mode: input.since === undefined || input.reconcile === true ? 'full' : 'increment',
    reconcile: input.reconcile === true,
    adopt: false,
    allowDeletes: input.allowDeletes === true,
    since: input.reconcile === true ? null : (input.since ?? null),
    nominalStart: Date.now(),
  });
}
