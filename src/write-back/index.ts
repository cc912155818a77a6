export type { WriteBackSource } from './check-write-back.js';
export { stageWriteBack, stageWriteBackRows, type WriteBackRows } from './stage-input.js';
