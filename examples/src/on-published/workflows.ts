import { proxyActivities, sleep } from '@temporalio/workflow';
import type { OnPublishedInput } from 'temporal-worktrack';
import type { WarehouseActivities } from './activities.js';

const { loadSnapshot } = proxyActivities<WarehouseActivities>({ startToCloseTimeout: '10 minutes' });

/** What a load copied. */
export interface Loaded {
  readonly resource: string;
  readonly runId: string;
  readonly rows: number;
}

/**
 * The workflow in `onPublished` of `worktrack.yaml`. It starts once for each published run, with the report of
 * the run. It waits, so that the runs of the other resources can end first.
 */
export async function loadWarehouse({ connection, report }: OnPublishedInput): Promise<Loaded> {
  const { resource, runId, snapshot } = report;
  await sleep('15 minutes');
  return { resource, runId, rows: await loadSnapshot(connection, snapshot) };
}
