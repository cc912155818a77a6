import { randomBytes } from 'node:crypto';
import { WithStartWorkflowOperation, type Workflow, WorkflowIdConflictPolicy } from '@temporalio/client';
import type { EpochMs } from '../../core/brands.js';
import {
  type AuditInput,
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
import {
  shownBatchId,
  WRITE_BACK_WORKFLOW,
  type WriteBackInput,
  writeBackWorkflowId,
} from '../../core/contract/write-back.js';
import { InvalidArgumentError } from '../../core/errors.js';
import { newMirror } from '../../core/mirror-requests.js';
import { isRunId } from '../../core/run-id.js';
import { cutText, MAX_SUMMARY_BYTES } from '../../core/text-budget.js';
import { parseSince, toTimeStamp } from '../../core/utc-time.js';
import type { TemporalClient } from './connect.js';

export interface StartOptions {
  /** Default: `worktrack`. */
  readonly taskQueue?: string | undefined;
  /** Default: a unique id such as `worktrack/<connection>/export/<time>-<random>`. */
  readonly workflowId?: string | undefined;
}

type ManualRun = 'export' | 'dry-run' | 'audit' | 'backfill' | 'rollback' | 'purge';

/**
 * A unique id for a workflow that a user starts.
 *
 * @example
 * const workflowId = manualId('acme', 'export');
 * await startExport(temporal, { connection: 'acme' }, { workflowId });
 */
export function manualId(connection: string, what: ManualRun, now: EpochMs = Date.now()): string {
  return `worktrack/${connection}/${what}/${toTimeStamp(now)}-${randomBytes(4).toString('hex')}`;
}

/**
 * Starts an export and returns its workflow id. If a workflow with this id is running, it is used, so that a retry after
 * a lost response has no effect. This also holds for the other functions in this file.
 *
 * @throws InvalidArgumentError if `acceptChecks` is empty, longer than 200 characters, or more than one line
 * @example
 * const workflowId = await startExport(temporal, { connection: 'acme', resources: ['tasks'] });
 * const { outcome, runs } = await followExport(temporal, workflowId);
 */
export async function startExport(
  temporal: TemporalClient,
  input: ExportInput,
  options: StartOptions = {},
): Promise<string> {
  const { acceptChecks } = input;
  // Manifests and warnings show who has accepted checks.
  if (acceptChecks !== undefined && !/^[^\p{Cc}]{1,200}$/u.test(acceptChecks))
    throw new InvalidArgumentError(
      'acceptChecks',
      'is not the name of a person',
      'Write who accepts the failed checks, in up to 200 characters, such as alice@laptop.',
    );
  const isDry = input.dryRun !== undefined;
  const what = isDry ? 'Dry run' : input.full === true ? 'Full export' : 'Export';
  const summary = `${what} of ${named(input)} (${input.connection})`;
  return start(temporal, EXPORT_WORKFLOW, isDry ? 'dry-run' : 'export', input, options, summary);
}

/**
 * Starts an audit: compares the published snapshots with the service, cell by cell, and writes a statement.
 *
 * @throws InvalidArgumentError if `sample` or `maxRequests` is out of range
 * @example
 * const workflowId = await startAudit(temporal, { connection: 'acme', resources: ['tasks'] });
 * const { outcome, statement } = await followExport(temporal, workflowId);
 */
export async function startAudit(
  temporal: TemporalClient,
  { connection, resources, cells, ...audit }: AuditInput,
  options: StartOptions = {},
): Promise<string> {
  const { sample = 0.5, maxRequests = 1 } = audit;
  if (!(sample > 0 && sample < 1))
    throw new InvalidArgumentError('sample', 'is no share', 'Write a number more than 0 and less than 1.');
  if (!Number.isSafeInteger(maxRequests) || maxRequests < 1)
    throw new InvalidArgumentError('maxRequests', 'is no number of requests', 'Write a whole number.');
  const dryRun = { audit, ...(cells !== undefined && { cells }) };
  const input: ExportInput = { connection, ...(resources && { resources }), dryRun };
  return start(
    temporal,
    EXPORT_WORKFLOW,
    'audit',
    input,
    options,
    `Audit of ${named(input)} (${connection})`,
  );
}

/**
 * Starts a backfill (`backfillWorkflow`), a manual reread that never moves a checkpoint back. `since` is a date (midnight
 * UTC) or a time with its zone.
 *
 * @throws InvalidArgumentError if `since` is not a time, lies in the future, or is combined with `reconcile`
 * @example
 * const since = '2026-08-01';
 * const workflowId = await startBackfill(temporal, { connection: 'acme', resources: ['tasks'], since });
 * const { outcome } = await followBackfill(temporal, workflowId);
 */
export async function startBackfill(
  temporal: TemporalClient,
  wanted: BackfillInput,
  options: StartOptions = {},
): Promise<string> {
  const input = checkBackfill(wanted);
  const how = input.since === undefined ? '' : ` since ${input.since}`;
  const summary = `${input.reconcile === true ? 'Reconciliation' : 'Backfill'} of ${named(input)}${how} (${input.connection})`;
  return start(temporal, BACKFILL_WORKFLOW, 'backfill', input, options, summary);
}

/**
 * Starts a rollback (`rollbackWorkflow`): publishes the rows of an earlier run as a new run.
 *
 * @throws InvalidArgumentError if `to` is not a run id
 * @example
 * const to = '20261121T020000Z-1a2b3c4d';
 * const workflowId = await startRollback(temporal, { connection: 'acme', resource: 'tasks', to });
 * const { outcome } = await followRollback(temporal, workflowId);
 */
export async function startRollback(
  temporal: TemporalClient,
  input: RollbackInput,
  options: StartOptions = {},
): Promise<string> {
  if (!isRunId(input.to))
    throw new InvalidArgumentError(
      'to',
      `${JSON.stringify(input.to)} is not a run id`,
      'Run ids look like 20261121T020000Z-1a2b3c4d. `worktrack history` lists them.',
    );
  const summary = `Rollback of ${input.resource} to ${input.to} (${input.connection})`;
  return start(temporal, ROLLBACK_WORKFLOW, 'rollback', input, options, summary);
}

/**
 * Starts a purge (`purgeWorkflow`): removes one record from all snapshots and change logs of a resource.
 *
 * @throws InvalidArgumentError if the key is empty
 * @example
 * const key = ['01KM0000000000000000000000'];
 * const workflowId = await startPurge(temporal, { connection: 'acme', resource: 'tasks', key });
 * const result = await followPurge(temporal, workflowId);
 * if (result.outcome === 'published') console.log(result.removed.snapshots);
 */
export async function startPurge(
  temporal: TemporalClient,
  input: PurgeInput,
  options: StartOptions = {},
): Promise<string> {
  // The message does not repeat the key, which belongs to a person's data.
  if (input.key.length === 0 || input.key.includes(''))
    throw new InvalidArgumentError(
      'key',
      'has no value',
      'Give the values of the key fields, in their order.',
    );
  const summary = `Purge of one record of ${input.resource} (${input.connection})`;
  return start(temporal, PURGE_WORKFLOW, 'purge', input, options, summary);
}

/**
 * Requests a run from a resource's mirror, and starts the mirror if it is not running. Resolves when the request is
 * durable. The query `answer` returns the outcome by the id of the request.
 *
 * @throws InvalidArgumentError if `since` is not a time; WorkflowUpdateFailedError for a request that the mirror rejects
 * @example
 * const { requestId } = await requestSync(temporal, { connection: 'acme', resource: 'tasks' });
 * const mirror = temporal.client.workflow.getHandle(mirrorWorkflowId('acme', 'tasks'));
 * const report = await mirror.query<RunReport | null, [string]>('answer', requestId);
 */
export async function requestSync(
  temporal: TemporalClient,
  { connection, resource, ...wanted }: SyncInput & { readonly connection: string; readonly resource: string },
  { taskQueue = DEFAULT_TASK_QUEUE }: StartWriteBackOptions = {},
): Promise<SyncAccepted> {
  const input = withCheckedSince(wanted);
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
    staticSummary: cutText(summary, MAX_SUMMARY_BYTES),
    memo: { connection: input.connection },
  });
  return workflowId;
}

function named({ resources }: Pick<ExportInput, 'resources'>): string {
  return resources === undefined ? 'all resources' : resources.join(', ');
}

/** Returns the input with `since` in whole seconds, UTC. @throws InvalidArgumentError */
export function checkBackfill(input: BackfillInput): BackfillInput {
  if (input.since !== undefined && input.reconcile === true)
    throw new InvalidArgumentError(
      'since',
      'and reconcile exclude each other: only a full read detects deletes',
      'Leave one of them out.',
    );
  return withCheckedSince(input);
}

/** Returns the input with `since` in whole seconds, UTC. @throws InvalidArgumentError */
function withCheckedSince<Input extends { readonly since?: string }>(input: Input): Input {
  if (input.since === undefined) return input;
  const since = parseSince(input.since);
  if (since === null) {
    throw new InvalidArgumentError(
      'since',
      `${JSON.stringify(input.since)} is not a time`,
      'Write a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z.',
    );
  }
  if (Date.parse(since) > Date.now())
    throw new InvalidArgumentError(
      'since',
      `${since} is in the future`,
      'Nothing can have changed since then.',
    );
  return { ...input, since };
}

export type StartWriteBackOptions = Pick<StartOptions, 'taskQueue'>;

export interface StartedWriteBack {
  readonly workflowId: string;
  /** Whether the batch is already running with another input or other options. If so, start it again after it ends. */
  readonly isOther: boolean;
}

/**
 * Starts a batch. A batch has one workflow id, so a running workflow of the batch is returned as it is.
 *
 * @example
 * const input = await stageWriteBack(connection, { resource: 'time-entries', file: 'november.csv' });
 * const { workflowId } = await startWriteBack(temporal, input);
 */
export async function startWriteBack(
  temporal: TemporalClient,
  input: WriteBackInput,
  { taskQueue = DEFAULT_TASK_QUEUE }: StartWriteBackOptions = {},
): Promise<StartedWriteBack> {
  const workflowId = writeBackWorkflowId(input);
  const { connection, resource, batchId } = input;
  const { written = null, system, resend } = input;
  const more = [system, resend].filter((one) => one !== undefined);
  const options = [input.unknown ?? 'report', written, ...more];
  const request = JSON.stringify([input.input, ...options]);
  const handle = await temporal.client.workflow.start(WRITE_BACK_WORKFLOW, {
    ...{ workflowId, taskQueue, args: [input] },
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    staticSummary: `Write-back of ${resource} (${connection}), batch ${shownBatchId(batchId)}`,
    memo: { connection, resource, batchId, request, startedAt: Date.now() },
  });
  const { memo } = await handle.describe();
  return { workflowId, isOther: memo?.request !== undefined && memo.request !== request };
}
