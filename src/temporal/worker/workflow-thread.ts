import { createRequire } from 'node:module';
import type { Script } from 'node:vm';
import { workerData } from 'node:worker_threads';
import type { ThreadData } from './workflow-threads.js';

// Runs in the thread of the workflows, in place of the SDK's module, and then loads that. See workflow-threads.ts.

const require = createRequire(import.meta.url);
const { module, calls } = workerData as ThreadData;

recordNoCallStacks();
if (calls !== null) countCalls(calls);
require(module);

function recordNoCallStacks(): void {
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
}

/** Makes calls into workflow code without a time limit, for which Node would start a thread. The main thread watches the count. */
function countCalls(counter: Int32Array): void {
  const vm = require('node:vm') as typeof import('node:vm');
  const { runInContext } = vm.Script.prototype;
  let depth = 0;
  vm.Script.prototype.runInContext = function (this: Script, context, { timeout: _, ...options } = {}) {
    if (depth++ === 0) Atomics.add(counter, 0, 1);
    try {
      return runInContext.call(this, context, options);
    } finally {
      if (--depth === 0) Atomics.add(counter, 0, 1);
    }
  };
}
