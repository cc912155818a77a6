/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */
export { writeBackWorkflowId } from '../src/core/write-back-contract.js';
export { exportWorkflow } from './export.js';
export { exportProgress, mirrorStatus, requestRun, runAnswered, withdrawRequest } from './messages.js';
export { resourceMirrorWorkflow } from './resource-mirror.js';
export { writeBackWorkflow } from './write-back.js';
export { writeBackLaneWorkflow } from './write-back-lane.js';
export { joinLane, laneTurn, leaveLane, writeBackProgress } from './write-back-messages.js';
