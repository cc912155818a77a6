import { DefaultLogger, Runtime } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import { logOf } from './last-logs.js';

// Temporal's runtime is installed once per process, which runs many test files. Many tests cause failures on purpose, and
// the SDK's warnings about them would hide the results: only a failure shows them.
const errors = new DefaultLogger('ERROR');
const noted = logOf('workers in the process of the test');
Runtime.install({
  logger: new DefaultLogger('INFO', (entry) => {
    const { level, message, meta } = entry;
    noted(`${level} ${message} ${JSON.stringify(meta ?? {})}`.slice(0, 500));
    if (level === 'ERROR') errors.log(level, message, meta);
  }),
});

// A worker that runs its workflows in this thread would watch each promise of the thread, also those of the test and of its
// service, for the call stacks of workflows, which takes a tenth of the CPU time. `temporal/call-stacks` has another process.
globalHandlers.installed = true;
