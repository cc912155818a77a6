import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { EpochMs } from '../../src/core/brands.js';
import { ACTIVITIES, RETRY, timeGiven } from '../../src/core/contract/activity-table.js';
import type { Activities } from '../../src/core/contract/index.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import type { Work } from '../../src/core/mirror-requests.js';

/** Temporal's range is 1 (first) to 5, and activities without a priority have 3. */
const PRIORITY_KEYS = { manual: 2, background: 4 } as const;
/** Temporal's limit, in bytes. Names of connections are ASCII. */
const MAX_FAIRNESS_KEY = 64;

/**
 * An activity with the limits and the priority of the table of activities. On a task queue with a backlog, work that someone
 * waits for comes first. Within one priority, connections take turns, however many activities each of them has. Servers
 * without fairness ignore the key.
 *
 * @param work of the request that it works for
 * @param more options that the table does not know, or that this call replaces
 */
export function activity<N extends keyof Activities>(
  name: N,
  connection: string,
  work: Work,
  more: ActivityOptions = {},
) {
  const { limits, isBackground } = ACTIVITIES[name];
  const priorityKey = PRIORITY_KEYS[isBackground === true ? 'background' : work];
  const priority = { priorityKey, fairnessKey: connection.slice(0, MAX_FAIRNESS_KEY) };
  return proxyActivities<Activities>({ ...limits, priority, ...more })[name];
}

/**
 * The limits of a phase by `retries.giveUpAfter`.
 */
export function untilGivenUp(
  name: keyof Activities,
  { giveUpAfterMs, startedAt }: { readonly giveUpAfterMs: number; readonly startedAt: EpochMs },
): ActivityOptions {
  const { giveUp } = ACTIVITIES[name];
  if (giveUp === 'attempts')
    return { retry: { ...RETRY, maximumAttempts: Math.max(3, Math.ceil(giveUpAfterMs / MINUTE_MS)) } };
  const left = timeGiven({ startedAt, giveUpAfterMs }, Date.now());
  return { startToCloseTimeout: left, scheduleToCloseTimeout: left };
}
