import type { RunId } from '../../src/core/brands.js';
import type { ExportResult, PurgeInput, RollbackInput } from '../../src/core/contract/index.js';
import { requestRuns } from './request-runs.js';

/**
 * Publishes the rows of an earlier published run as a new run, with that run's checkpoint. The next run reads everything.
 *
 * @throws ApplicationFailure `ExportFailed` if that is not possible, with the reason in its details
 * @example
 * const to = '20261121T020000Z-1a2b3c4d';
 * await executeChild(rollbackWorkflow, { args: [{ connection: 'acme', resource: 'tasks', to }] });
 */
export async function rollbackWorkflow({ connection, resource, to }: RollbackInput): Promise<ExportResult> {
  // The check of the request reports anything but a run id.
  return requestRuns({ connection, resources: [resource] }, { kind: 'rollback', to: to as RunId });
}

/**
 * Removes one record from all snapshots and change logs of a resource. If the service still has the record, the next full
 * pass adds it again.
 *
 * @throws ApplicationFailure `ExportFailed` if that is not possible, with the reason in its details
 * @example
 * const key = ['01KM0000000000000000000000'];
 * await executeChild(purgeWorkflow, { args: [{ connection: 'acme', resource: 'tasks', key }] });
 */
export async function purgeWorkflow({ connection, resource, key }: PurgeInput): Promise<ExportResult> {
  return requestRuns({ connection, resources: [resource] }, { kind: 'purge', key });
}
