import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import { ACTIVITIES, RETRY, timeGiven } from '../../src/core/contract/activity-table.js';
import type { Activities } from '../../src/core/contract/index.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { priorityOf } from './priority.js';

/**
 * An activity with the limits and the priority of the table of activities.
 *
 * @param work of the request that it works for
 * @param more options that the table does not know, or that this call replaces
 */
export function activity<N extends keyof Activities>(
  name: N,
  connection: string,
  work: 'manual' | 'background',
  more: ActivityOptions = {},
) {
  const { limits, priority } = ACTIVITIES[name];
  const whose = priority === 'background' ? 'background' : work;
  return proxyActivities<Activities>({ ...limits, priority: priorityOf(connection, whose), ...more })[name];
}

/**
 * The limits of a phase by `retries.giveUpAfter`.
 *
 * @param startedAt milliseconds since 1970
 */
export function untilGivenUp(
  name: keyof Activities,
  { giveUpAfterMs, startedAt }: { readonly giveUpAfterMs: number; readonly startedAt: number },
): ActivityOptions {
  const { giveUp } = ACTIVITIES[name];
  if (giveUp === 'attempts')
    return { retry: { ...RETRY, maximumAttempts: Math.max(3, Math.ceil(giveUpAfterMs / MINUTE_MS)) } };
  const left = timeGiven({ startedAt, giveUpAfterMs }, Date.now());
  return { startToCloseTimeout: left, scheduleToCloseTimeout: left };
}
