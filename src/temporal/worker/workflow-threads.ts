import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { WorkerOptions } from 'node:worker_threads';
import { fileOf } from './bundle.js';

/** The SDK uses the module as an object, so it gets a replaced class. An `import` would have a copy. */
const threads = createRequire(import.meta.url)('node:worker_threads') as typeof import('node:worker_threads');
/** The compiled one, also in tests: a thread cannot load TypeScript. */
const THREAD = fileOf('dist/src/temporal/worker/workflow-thread.js');
const SDK_MODULE = /[\\/]@temporalio[\\/]worker[\\/].*[\\/]workflow-worker-thread(\.js)?$/;

/** The space for new objects of the workflows' thread, in three parts. Without a limit it takes 48 MiB and saves no CPU time. */
const YOUNG_GENERATION_MIB = 6;

const scope = new AsyncLocalStorage<true>();
let isReplaced = false;

/**
 * Creates a worker whose workflows take little memory and record no call stacks. The SDK records one for each promise of a
 * workflow, with positions in the source, in case somebody asks for the stack of a waiting workflow. That takes up to a
 * third of the thread's time. Errors keep their stacks. Other workers in the process stay as they are; so does this one if
 * the SDK starts its threads in another way, or if `TEMPORAL_DEBUG` is set, which makes the SDK use no thread.
 */
export async function inLightThread<T>(create: () => Promise<T>): Promise<T> {
  if (!isReplaced && existsSync(THREAD)) replaceThreads();
  return scope.run(true, create);
}

function replaceThreads(): void {
  isReplaced = true;
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      const isOurs = scope.getStore() === true && typeof file === 'string' && SDK_MODULE.test(file);
      if (!isOurs || options.workerData !== undefined) super(file, options);
      else {
        const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
        super(THREAD, { ...options, resourceLimits, workerData: { module: file } });
      }
    }
  };
}
