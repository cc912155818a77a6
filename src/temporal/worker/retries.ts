import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { MINUTE_MS } from '../../core/duration.js';
import type { Meter } from '../../core/metrics.js';
import { runAttributes } from './interceptors.js';

/** An attempt that runs for so long without a failure counts as recovered, even if another worker has taken it over. */
const RECOVERED_MS = 10 * MINUTE_MS;
/** The retry policy of all activities of a run (workflows/mirror): the wait doubles from one second to one minute. */
const POLICY = { firstMs: 1000, maxMs: MINUTE_MS } as const;

interface Retrying {
  readonly connection: string;
  readonly resource: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** When the next attempt starts. */
  readonly nextAt: number;
}

interface Labels {
  readonly connection: string;
  readonly resource: string;
}

/** The least time that an activity has been retried for when its nth attempt fails: the waits between the attempts; ms. */
export function leastRetryingMs(attempt: number): number {
  let sum = 0;
  for (let n = 1; n < attempt; n++) {
    const wait = Math.min(POLICY.firstMs * 2 ** (n - 1), POLICY.maxMs);
    if (wait === POLICY.maxMs) return sum + wait * (attempt - n);
    sum += wait;
  }
  return sum;
}

/**
 * Knows since when the steps of runs fail and are retried. A worker sees only its own attempts: if another worker saw the
 * first failure, the time follows from the number of attempts, and may be less than the real one.
 */
export class RetryWatch {
  readonly #retrying = new Map<string, Retrying>();
  readonly #meter: Meter;
  readonly #now: () => number;

  constructor(meter: Meter, now: () => number = Date.now) {
    this.#meter = meter;
    this.#now = now;
  }

  /** Follows the attempts of a run's activities. */
  readonly interceptor: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        const { connection, resource, runId } = runAttributes(info, input.args) as Partial<
          Labels & { runId: string }
        >;
        if (connection === undefined || resource === undefined || runId === undefined) return next(input);
        const step = `${runId}/${resource}/${info.activityId}`;
        try {
          const result = await next(input);
          this.ended(step, { connection, resource });
          return result;
        } catch (error) {
          if (isRetried(error)) this.failed(step, { connection, resource }, info.attempt, waitOf(error));
          else this.ended(step, { connection, resource });
          throw error;
        }
      },
    },
  });

  /** Records that an attempt failed and will be retried. @param waitMs the wait that the failure asks for; `null`: the policy's */
  failed(step: string, labels: Labels, attempt: number, waitMs: number | null = null): void {
    const now = this.#now();
    const known = this.#retrying.get(step);
    this.#retrying.set(step, {
      ...labels,
      since: known?.since ?? now - leastRetryingMs(attempt),
      nextAt: now + (waitMs ?? POLICY.maxMs),
    });
    this.measure(labels);
  }

  /** Records that a step ended, or failed for good. */
  ended(step: string, labels: Labels): void {
    if (this.#retrying.delete(step)) this.measure(labels);
  }

  /** Records the longest time that a step of a run of this resource has been retried for; 0 if none is. */
  measure({ connection, resource }: Labels): void {
    const now = this.#now();
    let seconds = 0;
    for (const [step, one] of this.#retrying) {
      if (now > one.nextAt + RECOVERED_MS) this.#retrying.delete(step);
      else if (one.connection === connection && one.resource === resource)
        seconds = Math.max(seconds, (now - one.since) / 1000);
    }
    this.#meter.record('retrying', seconds, { connection, resource });
  }
}

/** Whether Temporal starts another attempt. A cancelled attempt, for example of a worker that stops, is not a failure. */
function isRetried(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.nonRetryable !== true;
}

function waitOf(error: unknown): number | null {
  const { nextRetryDelay } = error as ApplicationFailure;
  return nextRetryDelay === undefined || nextRetryDelay === null ? null : Number(nextRetryDelay);
}
