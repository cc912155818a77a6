/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */

export { onPublishedWorkflowId } from '../src/core/contract/names.js';
export { writeBackWorkflowId } from '../src/core/contract/write-back.js';
export { alertsWorkflow } from './alerts/alerts.js';
export { watchWorkflow } from './alerts/watch.js';
export { backfillWorkflow } from './export/backfill.js';
export { exportWorkflow } from './export/export.js';
export { purgeWorkflow, rollbackWorkflow } from './export/rollback-and-purge.js';
export { resourceMirrorWorkflow } from './mirror/resource-mirror.js';
export { changeNoticeWorkflow } from './notices/change-notice.js';
export { exportResultOfChild, writeBackResultOfChild } from './shared/child-results.js';
export {
  acquireLock,
  alertReport,
  changeNotice,
  exportProgress,
  lockGranted,
  mirrorStatus,
  releaseLock,
  requestAnswer,
  requestRun,
  runAnswered,
  sync,
  withdrawRequest,
  writeBackProgress,
} from './shared/messages.js';
export { workerConfigurationWorkflow } from './worker-configuration.js';
export { writeBackLockWorkflow } from './write-back/lock.js';
export { writeBackWorkflow } from './write-back/write-back-workflow.js';
