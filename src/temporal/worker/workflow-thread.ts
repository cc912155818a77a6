import { createRequire } from 'node:module';
import type { Script } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { ThreadCalls } from './thread-watch.js';
import type { ThreadData } from './workflow-threads.js';

// Runs in the thread of the workflows, in place of the SDK's module, and then loads that. See workflow-threads.ts.

const require = createRequire(import.meta.url);
const { module, calls } = workerData as ThreadData;

/** A message of the SDK, as far as it says which workflow is called. */
interface Request {
  readonly input: {
    readonly runId?: string;
    readonly options?: { readonly info: { readonly runId: string } };
  };
}

recordNoCallStacks();
if (calls !== null) countCalls(new ThreadCalls(calls));
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

/**
 * Removes the time limit of calls into workflow code, because Node starts a thread for each limited call. The main thread
 * watches the count.
 */
function countCalls(calls: ThreadCalls): void {
  // This listener is called before the SDK's, which calls into workflow code at once.
  parentPort!.on('message', ({ input: { runId, options } }: Request) =>
    calls.begin(runId ?? options?.info.runId ?? ''),
  );
  const vm = require('node:vm') as typeof import('node:vm');
  const { runInContext } = vm.Script.prototype;
  let depth = 0;
  vm.Script.prototype.runInContext = function (this: Script, context, { timeout: _, ...options } = {}) {
    if (depth++ === 0) calls.add();
    try {
      return runInContext.call(this, context, options);
    } finally {
      if (--depth === 0) calls.add();
    }
  };
}
