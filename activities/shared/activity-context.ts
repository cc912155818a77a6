import { randomUUID } from 'node:crypto';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { finalFailure } from './failures.js';
import { storeLimitOf } from './store-limit.js';

export const HEARTBEAT_MS = 1000;

/**
 * Temporal's clock, in milliseconds since 1970: the time when Temporal scheduled this attempt, plus the time elapsed
 * since. This machine's clock may be days off, so only its monotonic timer is used.
 *
 * @param measure another timer, milliseconds
 */
export function temporalClock(measure: () => number = () => performance.now()): () => number {
  const { currentAttemptScheduledTimestampMs: scheduledAt } = Context.current().info;
  const begunAt = measure();
  return () => Math.round(scheduledAt + measure() - begunAt);
}

/**
 * Sends heartbeats while an activity works, so that Temporal detects a dead worker and delivers cancellations. For
 * activities that save no position: a retry starts from the beginning and writes under its own object names.
 */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => {
    const details = storeLimitOf(context);
    if (details.storeLimit === undefined) context.heartbeat();
    else context.heartbeat(details);
  }, HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * A name that only this attempt of an activity has, for objects that only it may write. It holds the whole run id: run ids
 * of current servers are UUIDv7, and those of one minute begin with the same digits.
 */
export function attemptToken(): string {
  const { workflowExecution, activityId, attempt } = Context.current().info;
  return `${workflowExecution?.runId ?? randomUUID()}-${activityId}-${attempt}`;
}

/** Share of `giveUpAfter` for the work of an activity. The rest is for saving the result. */
export const SHARE_OF_TIME = 0.9;

/** Measures the time since an activity was first scheduled, across all attempts, by Temporal's clock. */
export class ActivityAge {
  readonly #before: number;
  readonly #begun = performance.now();

  constructor() {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
    this.#before = Math.max(0, currentAttemptScheduledTimestampMs - scheduledTimestampMs);
  }

  get ms(): number {
    return this.#before + performance.now() - this.#begun;
  }
}

/**
 * The final failure if the next attempt of a transient one would start too late, otherwise the failure itself. For the activity
 * that its workflow schedules before it knows the configuration.
 *
 * @param ageMs time since the run began
 */
export function finalIfLate(failure: unknown, ageMs: number, giveUpAfterMs: () => number): unknown {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable) return failure;
  const { type } = failure;
  // A refusal that is retried seems to be a limit.
  if (type !== 'Transient' && type !== 'Refused') return failure;
  const wait = Number(failure.nextRetryDelay ?? 0);
  if (ageMs + wait < giveUpAfterMs()) return failure;
  return finalFailure(type, `gave up: ${failure.message}`, failure.details?.[0] as object | undefined);
}
