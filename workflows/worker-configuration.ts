import { sleep } from '@temporalio/workflow';
import { DAY_MS } from '../src/core/duration.js';

/**
 * Holds a worker's configuration as its input, for `worktrack status` and `doctor`. The worker starts it, starts it again
 * within its life, and terminates it when it stops. The workflow of a worker that was killed ends by itself.
 */
export async function workerConfigurationWorkflow(_record: unknown): Promise<void> {
  await sleep(DAY_MS);
}
