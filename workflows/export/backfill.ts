import type { BackfillInput, ExportResult } from '../../src/core/contract/index.js';
import { runSpec } from '../../src/core/mirror.js';
import { requestRuns } from './request-runs.js';

/**
 * Rereads everything, or everything that changed since a time. The requests queue behind nightly runs in the mirror of
 * each resource. A backfill never moves a checkpoint back (docs/explanation/architecture.md#checkpoint).
 *
 * @throws ApplicationFailure `ExportFailed` if a resource was not published, with every outcome in its details
 */
export async function backfillWorkflow(input: BackfillInput): Promise<ExportResult> {
  const reconcile = input.reconcile === true;
  const changes = {
    mode: input.since === undefined || reconcile ? 'full' : 'increment',
    reconcile,
    allowDeletes: input.allowDeletes === true,
    since: reconcile ? null : (input.since ?? null),
  } as const;
  return requestRuns(input, runSpec(Date.now(), changes));
}
