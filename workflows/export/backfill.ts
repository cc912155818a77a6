import type { UtcSeconds } from '../../src/core/brands.js';
import type { BackfillInput, ExportResult } from '../../src/core/contract/index.js';
import { runSpec } from '../../src/core/mirror-requests.js';
import { parseSince } from '../../src/core/utc-time.js';
import { requestRuns } from './request-runs.js';

/**
 * Rereads everything, or everything that changed since a time. The requests queue behind nightly runs in the mirror of
 * each resource. A backfill never moves a checkpoint back (docs/explanation/how-it-works.md#checkpoint).
 *
 * @throws ApplicationFailure `ExportFailed` if a resource was not published, with every outcome in its details
 * @example
 * const args = [{ connection: 'acme', resources: ['tasks'], since: '2026-08-01' }] as const;
 * const { runs } = await executeChild(backfillWorkflow, { args: [...args] });
 */
export async function backfillWorkflow(input: BackfillInput): Promise<ExportResult> {
  const reconcile = input.reconcile === true;
  const changes = {
    mode: input.since === undefined || reconcile ? 'full' : 'increment',
    reconcile,
    allowDeletes: input.allowDeletes === true,
    since: reconcile || input.since === undefined ? null : sinceOf(input.since),
  } as const;
  return requestRuns(input, runSpec(Date.now(), changes));
}

/** An invalid time stays as it is: the check of the request then reports it for each resource. */
function sinceOf(text: string): UtcSeconds {
  return parseSince(text) ?? (text as UtcSeconds);
}
