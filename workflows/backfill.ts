import type { BackfillInput, ExportResult } from '../src/core/contract.js';
import { runAll } from './run-all.js';

/**
 * Reads again what somebody wants read again: everything, or what changed since a time. Queues with the nightly runs in
 * each resource's mirror, and never moves a checkpoint back (DESIGN 2).
 *
 * @throws ApplicationFailure `ExportFailed` when a resource was not published, with every outcome in its details
 */
export async function backfillWorkflow(input: BackfillInput): Promise<ExportResult> {
  return runAll(input, {
    kind: 'run',
    mode: input.since === undefined || input.reconcile === true ? 'full' : 'increment',
    reconcile: input.reconcile === true,
    adopt: false,
    allowDeletes: input.allowDeletes === true,
    since: input.reconcile === true ? null : (input.since ?? null),
    nominalStart: Date.now(),
  });
}
