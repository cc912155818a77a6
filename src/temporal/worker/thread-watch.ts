import type { Worker } from 'node:worker_threads';

/** A machine that sleeps for an hour misses one check, and not all of them. */
const CHECKS = 10;
/** Runs that the error names. */
const MAX_RUNS = 5;

/** A message of the SDK to the thread. Only two types run workflow code that takes its time. */
interface Request {
  readonly requestId: bigint;
  readonly input: {
    readonly type: string;
    readonly runId?: string;
    readonly options?: { readonly info: { readonly runId: string } };
  };
}

/** Ends the thread of the workflows if one call does not return for too long. The worker then fails with the error. */
export class ThreadWatch {
  /** Run IDs of the workflows that the thread works on, by request. The oldest comes first. */
  readonly #running = new Map<bigint, string>();

  /** @param calls calls that began plus those that ended, modulo 2³² */
  constructor(thread: Worker, calls: Int32Array, longestCallMs: number) {
    let seen = 0;
    let same = 0;
    const timer = setInterval(() => {
      const now = Atomics.load(calls, 0);
      const isInCall = now % 2 !== 0;
      same = isInCall && now === seen ? same + 1 : 0;
      seen = now;
      if (same < CHECKS) return;
      clearInterval(timer);
      thread.emit('error', this.#stuck(longestCallMs));
      void thread.terminate();
    }, longestCallMs / CHECKS);
    timer.unref();
    thread.once('exit', () => clearInterval(timer));
    thread.on('message', ({ requestId }: Partial<Request>) => {
      if (requestId !== undefined) this.#running.delete(requestId);
    });
  }

  /** Notes a message that was sent to the thread. */
  sent({ requestId, input }: Request): void {
    const runId = input.type === 'create-workflow' ? input.options?.info.runId : input.runId;
    if (runId !== undefined) this.#running.set(requestId, runId);
  }

  #stuck(longestCallMs: number): Error {
    const runs = [...new Set(this.#running.values())].slice(0, MAX_RUNS);
    const which = runs.length === 1 ? 'Its run ID' : 'It is the first or another one of these runs';
    return new Error(
      `a workflow has not returned for ${longestCallMs / 1000} s. ${which}: ${runs.join(', ')}. ` +
        'If this happens again, terminate the workflow.',
    );
  }
}
