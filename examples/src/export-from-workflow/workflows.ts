import {
  ApplicationFailure,
  ChildWorkflowFailure,
  executeChild,
  proxyActivities,
} from '@temporalio/workflow';
import type { ExportResult } from 'temporal-worktrack';
import { exportWorkflow } from 'temporal-worktrack/workflows';
import type * as activities from './activities.js';

const { announce } = proxyActivities<typeof activities>({ startToCloseTimeout: '10 seconds' });

/** A workflow of the application: exports a connection, then announces the result. */
export async function morningWorkflow(connection: string): Promise<string> {
  const { runs } = await exportAll(connection);
  const rows = runs.reduce((sum, run) => sum + (run.rows ?? 0), 0);
  const failed = runs.filter(({ outcome }) => outcome !== 'published').map(({ resource }) => resource);
  return announce(rows, failed);
}

/** An export in which a resource failed throws; the outcomes of all resources are in the failure's details. */
async function exportAll(connection: string): Promise<ExportResult> {
  try {
    return await executeChild(exportWorkflow, { args: [{ connection }] });
  } catch (error) {
    const cause = error instanceof ChildWorkflowFailure ? error.cause : undefined;
    const [result] =
      cause instanceof ApplicationFailure && cause.type === 'ExportFailed' ? (cause.details ?? []) : [];
    if (result === undefined) throw error;
    return result as ExportResult;
  }
}
