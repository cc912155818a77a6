export { claimRows } from './claim-rows.js';
export { confirmRows } from './confirm-rows.js';
export { planWriteBack } from './plan-write-back.js';
export { sendRows } from './send-rows.js';
export { writeResults } from './write-results.js';
