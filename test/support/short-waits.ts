import { fileURLToPath } from 'node:url';
import type { Duration } from '@temporalio/common';
import { vi } from 'vitest';
import type { WorktrackWorkerOptions } from '../../src/temporal/worker/worker.js';

/**
 * Lets this process draw its back-offs, which are at random up to a limit, from the lowest percent: those of requests to the
 * service and to the store. Ids that are drawn stay different. Called before the worker starts.
 */
export function shortenBackOffs(): void {
  const random = Math.random.bind(Math);
  vi.spyOn(Math, 'random').mockImplementation(() => random() / 100);
}

/** Variables of a worker in a separate process that does the same. */
export const SHORT_BACK_OFFS = {
  NODE_OPTIONS: `--require=${fileURLToPath(new URL('short-waits.cjs', import.meta.url))}`,
};

const RETRY_DELAY_MS = 20;

/**
 * Options of a worker whose failed activities begin again immediately, and not after a second, two, four, and so on, unless the
 * service or the store has named a wait.
 */
export const quickRetries: Partial<WorktrackWorkerOptions> = {
  worker: {
    interceptors: {
      activity: [
        () => ({
          inbound: {
            execute: (input, next) =>
              next(input).catch((error: Error & { nextRetryDelay?: Duration | undefined | null }) => {
                error.nextRetryDelay ??= RETRY_DELAY_MS;
                throw error;
              }),
          },
        }),
      ],
    },
  },
};
