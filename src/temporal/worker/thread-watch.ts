import type { Worker } from 'node:worker_threads';

/** Several checks, so that a machine that wakes from sleep does not look stuck. */
const CHECKS = 10;

/** Position of the calls into workflow code that began plus those that ended, modulo 2³². */
export const CALLS = 0;
/** Position of the number of the request that the thread received last. */
export const REQUEST = 1;

/** What the thread writes and `ThreadWatch` reads. */
export function newWatched(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** A message of the SDK to the thread, as far as it says which workflow is called. */
export interface ThreadRequest {
  readonly requestId: bigint;
  readonly input: {
    readonly type: string;
    readonly runId?: string;
    readonly options?: { readonly info: { readonly runId: string } };
  };
}

/** The request in `newWatched`. */
export function requestNumber(requestId: bigint): number {
  return Number(BigInt.asIntN(32, requestId));
}

/** Ends the thread of the workflows if a call takes too long to return. The worker then fails with the error. */
export class ThreadWatch {
  /** Run IDs of the workflows of unanswered requests, by the request's number. */
  readonly #runs = new Map<number, string>();

  constructor(thread: Worker, watched: Int32Array, longestCallMs: number) {
    let seen = 0;
    let same = 0;
    const timer = setInterval(() => {
      const now = Atomics.load(watched, CALLS);
      const isInCall = now % 2 !== 0;
      same = isInCall && now === seen ? same + 1 : 0;
      seen = now;
      if (same < CHECKS) return;
      clearInterval(timer);
      thread.emit('error', stuck(longestCallMs, this.#runs.get(Atomics.load(watched, REQUEST))));
      void thread.terminate();
    }, longestCallMs / CHECKS);
    timer.unref();
    thread.once('exit', () => clearInterval(timer));
    thread.on('message', ({ requestId }: Partial<ThreadRequest>) => {
      if (requestId !== undefined) this.#runs.delete(requestNumber(requestId));
    });
  }

  /** Notes a message that was sent to the thread. */
  sent({ requestId, input }: ThreadRequest): void {
    const runId = input.options?.info.runId ?? input.runId;
    if (runId !== undefined) this.#runs.set(requestNumber(requestId), runId);
  }
}

/** @param runId `undefined` if the thread is still loading the workflows */
function stuck(longestCallMs: number, runId: string | undefined): Error {
  const call = `a call into workflow code has not returned for ${longestCallMs / 1000} s`;
  if (runId === undefined) return new Error(`${call}, while the worker loaded its workflows`);
  return new Error(`${call}. The run ID is ${runId}. If this happens again, terminate that workflow.`);
}
