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
} from '../core/contract.js';
import { newMirror } from '../core/mirror.js';
import type { TemporalClient } from './connect.js';

export interface StartOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
  /** Default: one of its own, such as `worktrack/<connection>/export/<time>-<random>`. */
  readonly workflowId?: string | undefined;
}

/** A workflow id for what somebody starts by hand. */
export function manualId(
  connection: string,
  what: 'export' | 'backfill' | 'rollback' | 'purge',
  now: number = Date.now(),
): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  return `worktrack/${connection}/${what}/${stamp}-${randomBytes(4).toString('hex')}`;
}

/**
 * Starts an export and returns its workflow id; one of that id which is running already is taken as it is, so that
 * starting again after a lost answer starts nothing twice. The same goes for all that follow.
 */
export function startExport(
  temporal: TemporalClient,
  input: ExportInput,
  options: StartOptions = {},
): Promise<string> {
  const summary = `${input.full === true ? 'Full export' : 'Export'} of ${named(input)} (${input.connection})`;
  return start(temporal, EXPORT_WORKFLOW, input, {
    workflowId: manualId(input.connection, 'export'),
    ...defined(options),
    summary,
  });
}

/** Starts a backfill (`backfillWorkflow`): a manual re-read that never moves a checkpoint back. */
export function startBackfill(
  temporal: TemporalClient,
  input: BackfillInput,
  options: StartOptions = {},
): Promise<string> {
  const how = input.since === undefined ? '' : ` since ${input.since}`;
  const summary = `${input.reconcile === true ? 'Reconciliation' : 'Backfill'} of ${named(input)}${how} (${input.connection})`;
  return start(temporal, BACKFILL_WORKFLOW, input, {
    workflowId: manualId(input.connection, 'backfill'),
    ...defined(options),
    summary,
  });
}

/** Starts a rollback (`rollbackWorkflow`). */
export function startRollback(
  temporal: TemporalClient,
  input: RollbackInput,
  options: StartOptions = {},
): Promise<string> {
  return start(temporal, ROLLBACK_WORKFLOW, input, {
    workflowId: manualId(input.connection, 'rollback'),
    ...defined(options),
    summary: `Rollback of ${input.resource} to ${input.to} (${input.connection})`,
  });
}

/** Starts a purge (`purgeWorkflow`). */
export function startPurge(
  temporal: TemporalClient,
  input: PurgeInput,
  options: StartOptions = {},
): Promise<string> {
  return start(temporal, PURGE_WORKFLOW, input, {
    workflowId: manualId(input.connection, 'purge'),
    ...defined(options),
    summary: `Purge of one record of ${input.resource} (${input.connection})`,
  });
}

/**
 * Asks a resource's mirror for a run, starting the mirror if need be; resolves as soon as the request is durable. The
 * query `answer` tells by its id what became of it.
 *
 * @throws WorkflowUpdateFailedError for nonsense
 */
export function requestSync(
  temporal: TemporalClient,
  { connection, resource, ...input }: SyncInput & { readonly connection: string; readonly resource: string },
  { taskQueue }: Pick<StartOptions, 'taskQueue'> = {},
): Promise<SyncAccepted> {
  return temporal.client.workflow.executeUpdateWithStart<Workflow, SyncAccepted, [SyncInput]>('sync', {
    args: [input],
    startWorkflowOperation: new WithStartWorkflowOperation(MIRROR_WORKFLOW, {
      workflowId: mirrorWorkflowId(connection, resource),
      taskQueue: taskQueue ?? DEFAULT_TASK_QUEUE,
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
  input: { readonly connection: string },
  { workflowId, taskQueue, summary }: { workflowId: string; taskQueue?: string; summary: string },
): Promise<string> {
  await temporal.client.workflow.start(workflow, {
    workflowId,
    taskQueue: taskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: summary,
    memo: { connection: input.connection },
  });
  return workflowId;
}

function defined({ workflowId, taskQueue }: StartOptions): { workflowId?: string; taskQueue?: string } {
  return {
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(taskQueue === undefined ? {} : { taskQueue }),
  };
}

function named({ resources }: Pick<ExportInput, 'resources'>): string {
  return resources === undefined ? 'all resources' : resources.join(', ');
}
