import type { ExportResult, PurgeInput, RollbackInput } from '../src/core/contract.js';
import { runAll } from './run-all.js';

/**
 * Lets a resource's `latest.json` name an earlier published run, and its next increment start from that run's checkpoint.
 *
 * @throws ApplicationFailure `ExportFailed` when that is not possible, with the reason in its details
 */
export async function rollbackWorkflow({ connection, resource, to }: RollbackInput): Promise<ExportResult> {
  return runAll({ connection, resources: [resource] }, { kind: 'rollback', to });
}

/**
 * Removes one record from all snapshots and change logs of a resource. While the service still has the record, the
 * next full pass brings it back.
 *
 * @throws ApplicationFailure `ExportFailed` when that is not possible, with the reason in its details
 */
export async function purgeWorkflow({ connection, resource, key }: PurgeInput): Promise<ExportResult> {
  return runAll({ connection, resources: [resource] }, { kind: 'purge', key });
}
