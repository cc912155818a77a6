/** All workflows of this package. Re-export them from your own bundle: `export * from 'temporal-worktrack/workflows'`. */
export { exportWorkflow } from './export.js';
export { exportProgress, mirrorStatus, requestRun, runAnswered, withdrawRequest } from './messages.js';
export { resourceMirrorWorkflow } from './resource-mirror.js';
