import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { EpochMs, Millis, RunId } from '../core/brands.js';
import type { CheckedHead, RunPhase, StepHeartbeat, StoreLimitNote } from '../core/contract/index.js';
import { MINUTE_MS } from '../core/duration.js';
import type { Manifest } from '../lake/documents/manifest.js';
import { type StoreLimit, storeLimits } from '../lake/store/index.js';

export const HEARTBEAT_MS = 1000;

/**
 * Temporal's clock: the time when Temporal scheduled this attempt, plus the time elapsed
 * since. This machine's clock may be days off, so only its monotonic timer is used.
 */
export function temporalClock(measure: () => Millis = () => performance.now()): () => EpochMs {
  const { currentAttemptScheduledTimestampMs: scheduledAt } = Context.current().info;
  const begunAt = measure();
  return () => Math.round(scheduledAt + measure() - begunAt);
}

/** What an attempt has done so far of a run. */
export class AttemptProgress {
  mergedRows = 0;
  /** What an attempt of this activity has read of a rollback's head; `null`: nothing. */
  checkedHead: CheckedHead | null = null;
  /** Whether the merge may have written parts. */
  hasParts = false;
  /** Whether the swap of the pointer may arrive. */
  isSwapSent = false;
  /** The manifest of the snapshot that it has published; `null`: it has published none. */
  published: Manifest | null = null;
}

/**
 * Sends heartbeats while an activity works, so that Temporal detects a dead worker and delivers cancellations. For
 * activities that save no position: a retry starts from the beginning and writes under its own object names.
 *
 * @param progress the work changes it; only what is not zero is sent
 */
export async function withHeartbeat<T>(
  work: () => Promise<T>,
  progress?: Partial<Pick<AttemptProgress, 'mergedRows' | 'checkedHead'>>,
): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => {
    const { mergedRows = 0, checkedHead = null } = progress ?? {};
    const details: StepHeartbeat = {
      ...(mergedRows === 0 ? {} : { mergedRows }),
      ...(checkedHead === null ? {} : { checkedHead }),
      ...storeLimitOf(context),
    };
    if (Object.keys(details).length === 0) context.heartbeat();
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

/** A limit has ended if no request has met one for this long. */
const OVER_AFTER_MS = MINUTE_MS;

interface Seen extends StoreLimitNote {
  /** When a request last met it. */
  readonly last: EpochMs;
}

/** The limits that running activities have met. */
const seen = new WeakMap<Context, Seen>();

// A store publishes a limit in the asynchronous context of the activity that sent the request.
storeLimits.subscribe((message) => {
  const context = currentActivity();
  if (context === null) return;
  const now = Date.now();
  const before = seen.get(context);
  const since = before === undefined || now - before.last > OVER_AFTER_MS ? now : before.since;
  seen.set(context, { since, last: now, said: (message as StoreLimit).said });
});

function currentActivity(): Context | null {
  try {
    return Context.current();
  } catch {
    return null;
  }
}

/** Whether the store limits the requests of the current activity, as a part of its heartbeat. */
export function storeLimitOf(context: Context): StepHeartbeat {
  const found = seen.get(context);
  if (found === undefined || Date.now() - found.last > OVER_AFTER_MS) return {};
  return { storeLimit: { since: found.since, said: found.said } };
}

/** What an activity has used of the service: requests, and bytes of the list's pages. */
export interface ServiceUse {
  readonly requests: number;
  readonly bytes: number;
}

const uses = new WeakMap<Context, ServiceUse>();

/** Adds to what the current activity has used. */
export function noteUse(name: keyof ServiceUse, value: number): void {
  const context = currentActivity();
  if (context === null) return;
  const before = useOf(context);
  uses.set(context, { ...before, [name]: before[name] + value });
}

export function useOf(context: Context): ServiceUse {
  return uses.get(context) ?? { requests: 0, bytes: 0 };
}

/** What log lines of an activity say about its run, in addition to its input. */
interface LogSubject {
  /** The run id that this attempt publishes under. */
  readonly runId?: RunId;
  readonly phase: RunPhase;
}

const subjects = new WeakMap<Context, LogSubject>();

/** From now on, log lines of the current activity name this phase, and the run id if it is given. */
export function logPhase(phase: RunPhase, runId?: RunId): void {
  const context = Context.current();
  subjects.set(context, { ...subjects.get(context), phase, ...(runId === undefined ? {} : { runId }) });
  context.log.debug('the phase begins');
}

/** What `logPhase` has set. */
export function logSubjectOf(context: Context): Partial<LogSubject> {
  return subjects.get(context) ?? {};
}
