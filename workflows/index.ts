/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */
export { purgeWorkflow, rollbackWorkflow } from './amend.js';
export { backfillWorkflow } from './backfill.js';
export { changeNoticeWorkflow } from './change-notice.js';
export { exportWorkflow } from './export.js';
export {
  changeNotice,
  exportProgress,
  mirrorStatus,
  requestAnswer,
  requestRun,
  runAnswered,
  sync,
  withdrawRequest,
} from './messages.js';
export { resourceMirrorWorkflow } from './resource-mirror.js';
