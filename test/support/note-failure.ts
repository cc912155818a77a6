import { beforeEach, inject } from 'vitest';
import { keepThreadPoolAwake } from '../../src/core/thread-pool.js';
import { lastLogs } from './last-logs.js';
import { lastPauses, watchPauses } from './pauses.js';
import { lastLines } from './server-logs.js';

declare module 'vitest' {
  interface TaskMeta {
    /** What the processes of a failed test have said last. */
    logs?: string;
  }
}

// Tests wait for files and compression, too.
keepThreadPoolAwake();
watchPauses();

// The reporter shows it (test/support/failure-reporter.ts).
beforeEach(({ onTestFailed }) => {
  onTestFailed(({ task }) => {
    // Unit tests have no servers.
    const said = [lastPauses(), lastLogs(), lastLines(inject('serverLogs') ?? [])];
    task.meta.logs = said.filter((text) => text !== '').join('\n');
  });
});
