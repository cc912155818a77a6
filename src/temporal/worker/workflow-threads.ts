import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { WorkerOptions } from 'node:worker_threads';
import { fileOf } from './bundle.js';
import { endIfStuck, ThreadCalls } from './thread-watch.js';

/** The SDK uses the module as an object, so it gets a replaced class. A named import would not see the change. */
const threads = createRequire(import.meta.url)('node:worker_threads') as typeof import('node:worker_threads');
/** The compiled one, also in tests: a thread cannot load TypeScript. */
const THREAD = fileOf('dist/src/temporal/worker/workflow-thread.js');
const SDK_MODULE = /[\\/]@temporalio[\\/]worker[\\/].*[\\/]workflow-worker-thread(\.js)?$/;

/** The space for new objects of the workflows' thread, in three parts. Without a limit it takes 48 MiB and saves no CPU time. */
const YOUNG_GENERATION_MIB = 6;
/** A call takes milliseconds, so only a call that never ends, or a stalled machine, takes this long. */
const LONGEST_CALL_MS = 30_000;

/** What a thread gets. */
export interface ThreadData {
  /** Path of the SDK's module. */
  readonly module: string;
  /** Memory of a `ThreadCalls`; `null` if the SDK limits the time of each call. */
  readonly calls: SharedArrayBuffer | null;
}

interface LightThreadOptions {
  /**
   * Whether all workflow code is known to return from each call. Then calls have no time limit, because Node enforces one
   * with a thread per call, which takes up to a fifth of a worker's CPU time. A call that never returns ends the worker
   * instead of failing one workflow task.
   */
  readonly isTrusted: boolean;
  /** How long a call of trusted code may take, ms. Default: 30 s. */
  readonly longestCallMs?: number;
}

const scope = new AsyncLocalStorage<LightThreadOptions>();
let isReplaced = false;
let creating = 0;

/**
 * Creates a worker whose workflows take little memory and record no call stacks. The SDK records one for each promise of a
 * workflow, with positions in the source, in case somebody asks for the stack of a waiting workflow. That takes up to a
 * third of the thread's time. Errors keep their stacks. Other workers in the process stay as they are; so does this one if
 * the SDK starts its threads in another way, or if `TEMPORAL_DEBUG` is set, which makes the SDK use no thread.
 */
export async function inLightThread<T>(create: () => Promise<T>, options: LightThreadOptions): Promise<T> {
  if (!isReplaced && existsSync(THREAD)) replaceThreads();
  creating++;
  try {
    return await scope.run(options, create);
  } finally {
    creating--;
    // In use, it adds to the cost of each promise of the process on Node 20 and 22.
    if (creating === 0) scope.disable();
  }
}

function replaceThreads(): void {
  isReplaced = true;
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      const ours = scope.getStore();
      if (
        ours === undefined ||
        typeof file !== 'string' ||
        !SDK_MODULE.test(file) ||
        options.workerData !== undefined
      ) {
        super(file, options);
        return;
      }
      const calls = ours.isTrusted ? new ThreadCalls() : null;
      const workerData: ThreadData = { module: file, calls: calls?.memory ?? null };
      super(THREAD, {
        ...options,
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
        workerData,
      });
      if (calls !== null) endIfStuck(this, calls, ours.longestCallMs ?? LONGEST_CALL_MS);
    }
  };
}
