import type { Client } from '@temporalio/client';
import type { EpochMs } from '../../src/core/brands.js';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/core/duration.js';

type Request = Parameters<Client['workflowService']['listScheduleMatchingTimes']>[0];
type Timestamp = NonNullable<Request['startTime']>;

/**
 * When a Schedule is due, according to the server, which knows time zones, daylight saving time and calendars; oldest
 * first, at most 1,000.
 *
 * @throws ServiceError if Temporal does not answer, or has no such Schedule
 */
export async function scheduleTimes(
  { workflowService, options: { namespace } }: Client,
  scheduleId: string,
  from: EpochMs,
  to: EpochMs,
): Promise<EpochMs[]> {
  const { startTime } = await workflowService.listScheduleMatchingTimes({
    ...{ namespace, scheduleId },
    ...{ startTime: timestamp(from), endTime: timestamp(to) },
  });
  return startTime.map(({ seconds, nanos }) => Number(seconds ?? 0) * 1000 + Math.floor((nanos ?? 0) / 1e6));
}

/** The types ask for a `Long`, but protobufjs encodes numbers, too (google.protobuf.Timestamp). */
function timestamp(ms: EpochMs): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.floor(ms - seconds * 1000) * 1e6 } as unknown as Timestamp;
}

/** The times of a period, oldest first, at most 1,000 (`scheduleTimes`). */
type TimesOf = (from: EpochMs, to: EpochMs) => Promise<readonly EpochMs[]>;

/** The server lists the first times of a period, at most so many. */
const MAX_TIMES = 1_000;
/** Short ones first, because the last time is wanted. */
const PERIODS_MS = [10 * MINUTE_MS, DAY_MS, 35 * DAY_MS];

/** When a Schedule was due last; `null`: not between `since` and `until`. */
export async function lastDue(times: TimesOf, since: EpochMs, until: EpochMs): Promise<EpochMs | null> {
  for (const period of PERIODS_MS) {
    const from = Math.max(since, until - period);
    const last = from < until ? await lastOf(times, from, until) : null;
    if (last !== null) return last;
  }
  return null;
}

/** The last time of a period, which is halved while it has more times than the server lists. */
async function lastOf(times: TimesOf, from: EpochMs, to: EpochMs): Promise<EpochMs | null> {
  const found = await times(from, to);
  const last = found.at(-1) ?? null;
  if (last === null || found.length < MAX_TIMES || to - last < SECOND_MS) return last;
  const half = Math.ceil((last + to) / 2);
  return (await lastOf(times, half, to)) ?? (await lastOf(times, last, half)) ?? last;
}
