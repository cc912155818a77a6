import { randomBytes } from 'node:crypto';
import { WorkflowIdConflictPolicy } from '@temporalio/client';
import { DEFAULT_TASK_QUEUE, EXPORT_WORKFLOW, type ExportInput, exportWorkflowId } from '../core/contract.js';
import type { TemporalClient } from './connect.js';

export interface StartExportOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
  /** Default: one of its own, `worktrack/<connection>/export/<time>-<random>`. */
  readonly workflowId?: string | undefined;
}

/** A workflow id for an export that somebody starts by hand. */
export function manualExportId(connection: string, now: number = Date.now()): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${exportWorkflowId(connection)}/${stamp}-${randomBytes(4).toString('hex')}`;
}

/**
 * Starts an export and returns its workflow id; one of that id which is running already is taken as it is, so that
 * starting again after a lost answer starts nothing twice.
 */
export async function startExport(
  temporal: TemporalClient,
  input: ExportInput,
  options: StartExportOptions = {},
): Promise<string> {
  const workflowId = options.workflowId ?? manualExportId(input.connection);
  await temporal.client.workflow.start(EXPORT_WORKFLOW, {
    workflowId,
    taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: summary(input),
  });
  return workflowId;
}

function summary({ connection, resources, full }: ExportInput): string {
  const what = resources === undefined ? 'all resources' : resources.join(', ');
  return `${full === true ? 'Full export' : 'Export'} of ${what} (${connection})`;
}
