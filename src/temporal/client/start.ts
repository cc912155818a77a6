import { randomBytes } from 'node:crypto';
import { WithStartWorkflowOperation, type Workflow, WorkflowIdConflictPolicy } from '@temporalio/client';
import {
  BACKFILL_WORKFLOW,
  type BackfillInput,
  DEFAULT_TASK_QUEUE,
  EXPORT_WORKFLOW,
  type ExportInput,
  MIRROR_WORKFLOW,
  mirrorWorkflowId,
  PURGE_WORKFLOW,
  type PurgeInput,
  ROLLBACK_WORKFLOW,
  type RollbackInput,
  type SyncAccepted,
  type SyncInput,
} from '../../core/contract/index.js';
import { newMirror } from '../../core/mirror.js';
import type { TemporalClient } from './connect.js';

export interface StartOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
  /** Default: a unique id such as `worktrack/<connection>/export/<time>-<random>`. */
  readonly workflowId?: string | undefined;
}

type ManualRun = 'export' | 'backfill' | 'rollback' | 'purge';

/** A unique id for a workflow that a user starts. */
export function manualId(connection: string, what: ManualRun, now: number = Date.now()): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  return `worktrack/${connection}/${what}/${stamp}-${randomBytes(4).toString('hex')}`;
}

/**
 * Starts an export and returns its workflow id. If a workflow with this id is running, it is used, so that a retry after
 * a lost response starts nothing twice. This also holds for the other functions in this file.
 */
export function startExport(
  temporal: TemporalClient,
  input: ExportInput,
  options: StartOptions = {},
): Promise<string> {
  const summary = `${input.full === true ? 'Full export' : 'Export'} of ${named(input)} (${input.connection})`;
  return start(temporal, EXPORT_WORKFLOW, 'export', input, options, summary);
}

/** Starts a backfill (`backfillWorkflow`), a manual reread that never moves a checkpoint back. */
export function startBackfill(
  temporal: TemporalClient,
  input: BackfillInput,
  options: StartOptions = {},
): Promise<string> {
  const how = input.since === undefined ? '' : ` since ${input.since}`;
  const summary = `${input.reconcile === true ? 'Reconciliation' : 'Backfill'} of ${named(input)}${how} (${input.connection})`;
  return start(temporal, BACKFILL_WORKFLOW, 'backfill', input, options, summary);
}

/** Starts a rollback (`rollbackWorkflow`). */
export function startRollback(
  temporal: TemporalClient,
  input: RollbackInput,
  options: StartOptions = {},
): Promise<string> {
  const summary = `Rollback of ${input.resource} to ${input.to} (${input.connection})`;
  return start(temporal, ROLLBACK_WORKFLOW, 'rollback', input, options, summary);
}

/** Starts a purge (`purgeWorkflow`). */
export function startPurge(
  temporal: TemporalClient,
  input: PurgeInput,
  options: StartOptions = {},
): Promise<string> {
  const summary = `Purge of one record of ${input.resource} (${input.connection})`;
  return start(temporal, PURGE_WORKFLOW, 'purge', input, options, summary);
}

/**
 * Requests a run from a resource's mirror, and starts the mirror if it is not running. Resolves when the request is
 * durable. The query `answer` returns the outcome by the id of the request.
 *
 * @throws WorkflowUpdateFailedError for an invalid request
 */
export function requestSync(
  temporal: TemporalClient,
  { connection, resource, ...input }: SyncInput & { readonly connection: string; readonly resource: string },
  { taskQueue = DEFAULT_TASK_QUEUE }: Pick<StartOptions, 'taskQueue'> = {},
): Promise<SyncAccepted> {
  return temporal.client.workflow.executeUpdateWithStart<Workflow, SyncAccepted, [SyncInput]>('sync', {
    args: [input],
    startWorkflowOperation: new WithStartWorkflowOperation(MIRROR_WORKFLOW, {
      workflowId: mirrorWorkflowId(connection, resource),
      taskQueue,
      args: [newMirror(connection, resource)],
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      staticSummary: `Mirror of ${resource} (${connection})`,
      memo: { connection, resource },
    }),
  });
}

async function start(
  temporal: TemporalClient,
  workflow: string,
  what: ManualRun,
  input: { readonly connection: string },
  { workflowId = manualId(input.connection, what), taskQueue = DEFAULT_TASK_QUEUE }: StartOptions,
  summary: string,
): Promise<string> {
  await temporal.client.workflow.start(workflow, {
    workflowId,
    taskQueue,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: summary,
    memo: { connection: input.connection },
  });
  return workflowId;
}

function named({ resources }: Pick<ExportInput, 'resources'>): string {
  return resources === undefined ? 'all resources' : resources.join(', ');
}
