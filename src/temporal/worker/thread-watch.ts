import type { Worker } from 'node:worker_threads';

/** Several checks, so that a machine that wakes from sleep does not look stuck. */
const CHECKS = 10;
/** A UUID. */
const RUN_ID_BYTES = 36;

/** What the thread of the workflows writes about its calls, in memory that the main thread reads. */
export class ThreadCalls {
  readonly #memory: SharedArrayBuffer;
  /** Calls that began plus those that ended, modulo 2³²: odd during a call. */
  readonly #count: Int32Array;
  readonly #runId: Buffer;

  /** @param memory of another `ThreadCalls`, to share it */
  constructor(memory = new SharedArrayBuffer(4 + RUN_ID_BYTES)) {
    this.#memory = memory;
    this.#count = new Int32Array(memory, 0, 1);
    this.#runId = Buffer.from(memory, 4);
  }

  get memory(): SharedArrayBuffer {
    return this.#memory;
  }

  get count(): number {
    return Atomics.load(this.#count, 0);
  }

  /** The run that the thread works on; empty while it loads the workflows. */
  get runId(): string {
    return this.#runId.toString('latin1').replace(/\0+$/, '');
  }

  /** Counts the beginning or the end of a call. */
  add(): void {
    Atomics.add(this.#count, 0, 1);
  }

  begin(runId: string): void {
    this.#runId.fill(0).write(runId, 'latin1');
  }
}

/** Ends the thread of the workflows if a call takes too long to return. The worker then fails with the error. */
export function endIfStuck(thread: Worker, calls: ThreadCalls, longestCallMs: number): void {
  let seen = 0;
  let same = 0;
  const timer = setInterval(() => {
    const now = calls.count;
    const isInCall = now % 2 !== 0;
    same = isInCall && now === seen ? same + 1 : 0;
    seen = now;
    if (same < CHECKS) return;
    clearInterval(timer);
    thread.emit('error', stuck(longestCallMs, calls.runId));
    void thread.terminate();
  }, longestCallMs / CHECKS);
  timer.unref();
  thread.once('exit', () => clearInterval(timer));
}

function stuck(longestCallMs: number, runId: string): Error {
  const call = `a call into workflow code has not returned for ${longestCallMs / 1000} s`;
  if (runId === '') return new Error(`${call}, while the worker loaded its workflows`);
  return new Error(`${call}. The run ID is ${runId}. If this happens again, terminate that workflow.`);
}
