import { beforeEach, inject } from 'vitest';
import { lastLogs } from './last-logs.js';
import { lastLines } from './server-logs.js';

declare module 'vitest' {
  interface TaskMeta {
    /** What the processes of a failed test have said last. */
    logs?: string;
  }
}

// The reporter shows it (test/support/failure-reporter.ts).
beforeEach(({ onTestFailed }) => {
  onTestFailed(({ task }) => {
    task.meta.logs = [lastLogs(), lastLines(inject('serverLogs'))].filter((text) => text !== '').join('\n');
  });
});
