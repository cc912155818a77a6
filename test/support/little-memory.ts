import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/**
 * Runs a script, which may await and import, in a thread with 48 MiB of heap. @returns its exit code, or the error that
 * ended it, such as an out-of-memory error
 */
export async function runInLittleMemory(script: string): Promise<number | Error> {
  const worker = new Worker(`(async () => {${script}})()`, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 40, maxYoungGenerationSizeMb: 8 },
  });
  const failed = once(worker, 'error').then(([error]) => error as Error);
  const ended = once(worker, 'exit').then(([code]) => code as number);
  return Promise.race([failed, ended]);
}
