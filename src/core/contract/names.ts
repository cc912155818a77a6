/** Names of workflow types and signals, for clients and other workflows. */
export const EXPORT_WORKFLOW = 'exportWorkflow';
export const BACKFILL_WORKFLOW = 'backfillWorkflow';
export const ROLLBACK_WORKFLOW = 'rollbackWorkflow';
export const PURGE_WORKFLOW = 'purgeWorkflow';
export const MIRROR_WORKFLOW = 'resourceMirrorWorkflow';
export const CHANGE_NOTICE_WORKFLOW = 'changeNoticeWorkflow';
export const CHANGE_NOTICE_SIGNAL = 'changeNotice';
export const DEFAULT_TASK_QUEUE = 'worktrack';

export function mirrorWorkflowId(connection: string, resource: string): string {
  return `worktrack/${connection}/mirror/${resource}`;
}

export function exportWorkflowId(connection: string): string {
  return `worktrack/${connection}/export`;
}

export function noticesWorkflowId(connection: string, resource: string): string {
  return `worktrack/${connection}/notices/${resource}`;
}
