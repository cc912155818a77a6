/** Names of workflow types and signals, for clients and other workflows. */
export const EXPORT_WORKFLOW = 'exportWorkflow';
export const BACKFILL_WORKFLOW = 'backfillWorkflow';
export const ROLLBACK_WORKFLOW = 'rollbackWorkflow';
export const PURGE_WORKFLOW = 'purgeWorkflow';
export const MIRROR_WORKFLOW = 'resourceMirrorWorkflow';
export const CHANGE_NOTICE_WORKFLOW = 'changeNoticeWorkflow';
export const CHANGE_NOTICE_SIGNAL = 'changeNotice';
export const ALERTS_WORKFLOW = 'alertsWorkflow';
export const ALERTS_SIGNAL = 'alertReport';
export const WATCH_WORKFLOW = 'watchWorkflow';
export const ANNOUNCE_WORKFLOW = 'announceWorkflow';
export const DEFAULT_TASK_QUEUE = 'worktrack';

/**
 * The id of the mirror of a resource.
 *
 * @example
 * const mirror = temporal.client.workflow.getHandle(mirrorWorkflowId('acme', 'tasks'));
 * const status = await mirror.query<MirrorStatus>('status');
 */
export function mirrorWorkflowId(connection: string, resource: string): string {
  return `worktrack/${connection}/mirror/${resource}`;
}

/**
 * The id of an export that a Schedule starts; the server appends the nominal start time.
 *
 * @example
 * const handle = temporal.client.workflow.getHandle(exportWorkflowId('acme'));
 */
export function exportWorkflowId(connection: string): string {
  return `worktrack/${connection}/export`;
}

/** How the ids of dry runs begin. They are exports that publish nothing, so no list of runs has them. */
export function dryRunIds(connection: string): string {
  return `worktrack/${connection}/dry-run`;
}

/** The id of a connection's Schedule of audits, and of the audits that it starts. They are exports that publish nothing, too. */
export function auditId(connection: string): string {
  return `worktrack/${connection}/audit`;
}

/**
 * The workflow that `onPublished` starts for a run. Each run has its own id, so its workflow starts once.
 *
 * @example
 * const workflowId = onPublishedWorkflowId('acme', report.resource, report.runId);
 * await temporal.client.workflow.getHandle(workflowId).result();
 */
export function onPublishedWorkflowId(connection: string, resource: string, runId: string): string {
  return `worktrack/${connection}/on-published/${resource}/${runId}`;
}

/** The id of the workflow that announces a run to the targets of `notify`. Each run has its own id, so it starts once. */
export function announceWorkflowId(connection: string, resource: string, runId: string): string {
  return `worktrack/${connection}/announce/${resource}/${runId}`;
}

/**
 * The id of the workflow that collects the change notices of a resource.
 *
 * @example
 * const handle = temporal.client.workflow.getHandle(noticesWorkflowId('acme', 'tasks'));
 */
export function noticesWorkflowId(connection: string, resource: string): string {
  return `worktrack/${connection}/notices/${resource}`;
}

/** The id of the workflow that sends the alerts of all connections of a task queue. */
export function alertsWorkflowId(taskQueue: string): string {
  return `worktrack-alerts/${taskQueue}`;
}

/**
 * The id of a connection's nightly Schedule.
 *
 * @example
 * const handle = temporal.client.schedule.getHandle(scheduleId('acme'));
 */
export function scheduleId(connection: string): string {
  return `worktrack/${connection}/nightly`;
}

/** The id of the Schedule that looks for stale data and missed runs of a connection, and of the workflows that it starts. */
export function watcherId(connection: string): string {
  return `worktrack/${connection}/watch`;
}
