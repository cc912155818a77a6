import { DAY_MS, MINUTE_MS } from '../../core/duration.js';
import type { ScheduleSettings } from '../../core/settings.js';

/** More than a year, so that every change to daylight saving time is found. */
const DAYS_AHEAD = 400;

/** A day without a run, because daylight saving time skips the local time of the run. */
export interface SkippedNight {
  /** Local date, `2027-03-28`. */
  readonly date: string;
  /** Local time that does not exist on this date, `02:00`. */
  readonly time: string;
}

/**
 * The first day within 400 days that Temporal skips because the cron's local time does not exist (observed on server
 * 1.29.1). Handles only cron expressions with one time per day, such as the default; returns `null` for others.
 *
 * @param from milliseconds since 1970
 */
export function nextSkippedNight(
  { cron, timezone }: Pick<ScheduleSettings, 'cron' | 'timezone'>,
  from: number,
): SkippedNight | null {
  const [minute, hour] = /^(\d{1,2}) (\d{1,2}) \S+ \S+ \S+$/.exec(cron.replace(/\s+/g, ' '))?.slice(1) ?? [];
  if (minute === undefined || hour === undefined) return null;
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
    hourCycle: 'h23',
  });
  const local = (at: number): string => format.format(at).replace(', ', 'T');
  const today = Math.floor(from / DAY_MS) * DAY_MS;
  for (let day = 1; day <= DAYS_AHEAD; day++) {
    const asUtc = today + day * DAY_MS + (Number(hour) * 60 + Number(minute)) * MINUTE_MS;
    const date = new Date(asUtc).toISOString().slice(0, 10);
    // The time exists if one of the zone's offsets around it leads to this local time.
    const offsets = [asUtc - DAY_MS, asUtc + DAY_MS].map((at) => Date.parse(`${local(at)}:00Z`) - at);
    if (!offsets.some((offset) => local(asUtc - offset) === `${date}T${time}`)) return { date, time };
  }
  return null;
}
