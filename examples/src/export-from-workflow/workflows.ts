import { executeChild, proxyActivities } from '@temporalio/workflow';
import { exportResultOfChild, exportWorkflow } from 'temporal-worktrack/workflows';
import type * as activities from './activities.js';

const { announce } = proxyActivities<typeof activities>({ startToCloseTimeout: '10 seconds' });

/** A workflow of the application: exports a connection as a child, then announces the result, even if a resource failed. */
export async function morningWorkflow(connection: string): Promise<string> {
  // An export with a failed resource throws. Its failure has the outcomes of all resources.
  const { runs } = await executeChild(exportWorkflow, { args: [{ connection }] }).catch(exportResultOfChild);
  const rows = runs.reduce((sum, run) => sum + (run.rows ?? 0), 0);
  const failed = runs.filter(({ outcome }) => outcome !== 'published').map(({ resource }) => resource);
  return announce(rows, failed);
}
