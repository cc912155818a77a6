/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */

export { writeBackWorkflowId } from '../src/core/write-back-contract.js';
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
export { writeBackWorkflow } from './write-back.js';
export { writeBackLaneWorkflow } from './write-back-lane.js';
export { joinLane, laneTurn, leaveLane, writeBackProgress } from './write-back-messages.js';
