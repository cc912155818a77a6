import { createRequire } from 'node:module';
import { workerData } from 'node:worker_threads';

// Runs in the thread of the workflows, in place of the SDK's module, and then loads that. See workflow-threads.ts.

const require = createRequire(import.meta.url);
const v8 = require('node:v8') as { promiseHooks: typeof import('node:v8').promiseHooks };

// A copy: Node uses the original object itself, for AsyncLocalStorage. The SDK catches this error and works without call
// stacks, and says so to whoever asks for one.
v8.promiseHooks = {
  ...v8.promiseHooks,
  createHook() {
    throw new Error('this worker records no call stacks of workflows');
  },
};
const { warn } = console;
console.warn = (...args: unknown[]) => {
  if (!String(args[0]).startsWith('v8.promiseHooks.createHook')) warn(...args);
};
require((workerData as { readonly module: string }).module);
