import { executeChild, proxyActivities } from '@temporalio/workflow';
import { exportWorkflow } from 'temporal-worktrack/workflows';
import type * as activities from './activities.js';

export * from 'temporal-worktrack/workflows';

const { announce } = proxyActivities<typeof activities>({ startToCloseTimeout: '10 seconds' });

/** A workflow of the application, with an export as one of its steps. */
export async function morningWorkflow(connection: string): Promise<string> {
  const { runs } = await executeChild(exportWorkflow, { args: [{ connection }] });
  return announce(runs.reduce((sum, { rows }) => sum + (rows ?? 0), 0));
}
