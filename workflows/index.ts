/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */
export { changeNoticeWorkflow } from './change-notice.js';
export { exportWorkflow } from './export.js';
export {
  changeNotice,
  exportProgress,
  mirrorStatus,
  requestRun,
  runAnswered,
  withdrawRequest,
} from './messages.js';
export { resourceMirrorWorkflow } from './resource-mirror.js';
