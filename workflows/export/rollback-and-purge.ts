import type { ExportResult, PurgeInput, RollbackInput } from '../../src/core/contract/index.js';
import { requestRuns } from './request-runs.js';

/**
 * Points a resource's `latest.json` to an earlier published run. The next increment starts from that run's checkpoint.
 *
 * @throws ApplicationFailure `ExportFailed` if that is not possible, with the reason in its details
 */
export async function rollbackWorkflow({ connection, resource, to }: RollbackInput): Promise<ExportResult> {
  return requestRuns({ connection, resources: [resource] }, { kind: 'rollback', to });
}

/**
 * Removes one record from all snapshots and change logs of a resource. If the service still has the record, the next full
 * pass adds it again.
 *
 * @throws ApplicationFailure `ExportFailed` if that is not possible, with the reason in its details
 */
export async function purgeWorkflow({ connection, resource, key }: PurgeInput): Promise<ExportResult> {
  return requestRuns({ connection, resources: [resource] }, { kind: 'purge', key });
}
