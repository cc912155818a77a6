import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { MINUTE_MS } from '../../core/duration.js';
import { fileOf } from './bundle.js';

/** The SDK uses the module as an object, so it gets a replaced class. An `import` would have a copy. */
const threads = createRequire(import.meta.url)('node:worker_threads') as typeof import('node:worker_threads');
/** The compiled one, also in tests: a thread cannot load TypeScript. */
const THREAD = fileOf('dist/src/temporal/worker/workflow-thread.js');
const SDK_MODULE = /[\\/]@temporalio[\\/]worker[\\/].*[\\/]workflow-worker-thread(\.js)?$/;

/** The space for new objects of the workflows' thread, in three parts. Without a limit it takes 48 MiB and saves no CPU time. */
const YOUNG_GENERATION_MIB = 6;
/** A call takes milliseconds. */
const LONGEST_CALL_MS = MINUTE_MS;
/** A machine that sleeps for an hour misses one check, and not all of them. */
const CHECKS = 10;

/** What a thread gets. */
export interface ThreadData {
  /** Path of the SDK's module. */
  readonly module: string;
  /** Calls into workflow code that began plus those that ended, modulo 2³²; `null` if the SDK limits their time. */
  readonly calls: Int32Array | null;
}

interface LightThreadOptions {
  /**
   * Whether all workflow code is known to end each call. For a time limit, Node starts a thread for each call, up to a
   * fifth of a worker's CPU time. Without it, a call that never ends also ends the worker, instead of one workflow task.
   */
  readonly isTrusted: boolean;
  /** How long a call of trusted code may take, ms. Default: a minute. */
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
    // In use, it costs time for each promise of the process.
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
      const calls = ours.isTrusted ? new Int32Array(new SharedArrayBuffer(4)) : null;
      const workerData: ThreadData = { module: file, calls };
      super(THREAD, {
        ...options,
        resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
        workerData,
      });
      if (calls !== null) endIfStuck(this, calls, ours.longestCallMs ?? LONGEST_CALL_MS);
    }
  };
}

/** Ends a thread that does not return from a call. The worker then fails with the error. */
function endIfStuck(thread: Worker, calls: Int32Array, longestCallMs: number): void {
  let seen = 0;
  let same = 0;
  const timer = setInterval(() => {
    const now = Atomics.load(calls, 0);
    const isInCall = now % 2 !== 0;
    same = isInCall && now === seen ? same + 1 : 0;
    seen = now;
    if (same < CHECKS) return;
    clearInterval(timer);
    thread.emit('error', new Error(`a workflow has not returned for ${longestCallMs / 1000} s`));
    void thread.terminate();
  }, longestCallMs / CHECKS);
  timer.unref();
  thread.once('exit', () => clearInterval(timer));
}
