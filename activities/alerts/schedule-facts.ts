import { getClient } from '@temporalio/activity';
import { type ScheduleDescription, ScheduleNotFoundError } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { longestGap } from '../../src/core/alerts/index.js';
import { scheduleId } from '../../src/core/contract/index.js';
import { SCHEDULE_GRACE_MS } from '../../src/core/data-age.js';
import { DAY_MS } from '../../src/core/duration.js';
import type { ConnectionSettings } from '../../src/core/settings.js';

/** What Temporal knows of the Schedule of a connection. Times are milliseconds since 1970. */
export type ScheduleFacts =
  /** `unknown`: Temporal did not say, as the test server. */
  | { readonly state: 'none' | 'paused' | 'unknown' }
  | {
      readonly state: 'active';
      readonly createdAt: number;
      /** The last time when a run should have started by now; `null`: there was none since the last change. */
      readonly dueAt: number | null;
      /** When the newest run started; `null`: none has. */
      readonly startedAt: number | null;
      /** The longest time between two runs; `null`: not known. */
      readonly longestGapMs: number | null;
    };

/** Periods that are searched for due times, until there are enough. The server lists 1,000 of them at most. */
const PERIODS_MS = [35 * DAY_MS, 400 * DAY_MS, 1500 * DAY_MS];

/** Describes the Schedule of a connection. Never throws: without an answer, nothing is known. */
export async function scheduleFacts(connection: ConnectionSettings, now: number): Promise<ScheduleFacts> {
  if (connection.notify.every(needsNoSchedule)) return { state: 'unknown' };
  const id = scheduleId(connection.name);
  try {
    const described = await getClient().schedule.getHandle(id).describe();
    if (described.state.paused) return { state: 'paused' };
    const { createdAt, lastUpdatedAt } = described.info;
    const changedAt = (lastUpdatedAt ?? createdAt).getTime();
    const until = now - SCHEDULE_GRACE_MS - connection.schedule.jitterMs;
    const due =
      until <= changedAt ? [] : await matchingTimes(id, Math.max(changedAt, until - 35 * DAY_MS), until);
    return {
      state: 'active',
      createdAt: createdAt.getTime(),
      dueAt: due.at(-1) ?? null,
      startedAt: newestStart(described),
      longestGapMs: await longestGapFrom(id, now),
    };
  } catch (error) {
    return { state: error instanceof ScheduleNotFoundError ? 'none' : 'unknown' };
  }
}

function needsNoSchedule({ on, maxAgeMs }: ConnectionSettings['notify'][number]): boolean {
  return !on.includes('behind') && (maxAgeMs !== null || !on.includes('stale'));
}

function newestStart({ info }: ScheduleDescription): number | null {
  // Nominal times; a manual start has the time when it was requested.
  const times = info.recentActions.map(({ scheduledAt }) => scheduledAt.getTime());
  return times.length === 0 ? null : Math.max(...times);
}

async function longestGapFrom(id: string, now: number): Promise<number | null> {
  for (const period of PERIODS_MS) {
    const times = await matchingTimes(id, now, now + period);
    if (times.length >= 3) return longestGap(times);
  }
  return null;
}

/** The server's own times, which know time zones, daylight saving time and calendars. */
async function matchingTimes(id: string, from: number, to: number): Promise<number[]> {
  const client = getClient();
  const { startTime } = await client.workflowService.listScheduleMatchingTimes({
    namespace: client.options.namespace,
    scheduleId: id,
    startTime: msToTs(from),
    endTime: msToTs(to),
  });
  return startTime.map((time) => tsToMs(time));
}

/** How old the data may be for each target with `stale`, in ms, by the target's id. Left out: any age. */
export function maxAgesOf(
  { notify, retries }: Pick<ConnectionSettings, 'notify' | 'retries'>,
  facts: ScheduleFacts,
): Map<string, number> {
  const standard =
    facts.state === 'active' && facts.longestGapMs !== null
      ? facts.longestGapMs + retries.giveUpAfterMs
      : null;
  return new Map(
    notify.flatMap(({ id, on, maxAgeMs }) => {
      const maxAge = maxAgeMs ?? standard;
      return on.includes('stale') && maxAge !== null ? [[id, maxAge] as const] : [];
    }),
  );
}
