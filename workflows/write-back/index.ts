export { confirmWriteBackWorkflow } from './confirm-workflow.js';
export { writeBackLockWorkflow } from './lock.js';
export { writeBackWorkflow } from './write-back-workflow.js';
