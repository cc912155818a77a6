/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */

export { onPublishedWorkflowId } from '../src/core/contract/workflow-ids.js';
export { writeBackWorkflowId } from '../src/core/contract/write-back.js';
export { alertsWorkflow, announceWorkflow, watchWorkflow } from './alerts/alerts-workflows.js';
export {
  backfillWorkflow,
  exportWorkflow,
  purgeWorkflow,
  rollbackWorkflow,
} from './export/export-workflows.js';
export { resourceMirrorWorkflow } from './mirror/resource-mirror.js';
export { changeNoticeWorkflow } from './notices/change-notice.js';
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
export { exportResultOfChild, writeBackResultOfChild } from './shared/run-errors.js';
export { workerConfigurationWorkflow } from './worker-configuration.js';
export { confirmWriteBackWorkflow, writeBackLockWorkflow, writeBackWorkflow } from './write-back/index.js';
