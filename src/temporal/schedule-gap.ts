import type { ScheduleSettings } from '../core/settings.js';

const DAY_MS = 24 * 60 * 60_000;
/** Every zone that changes its clocks does so within a year. */
const AHEAD_DAYS = 400;

/** A night without a run: its time is one that the zone's clocks leave out when they go forward. */
export interface NightLeftOut {
  /** Local date, `2027-03-28`. */
  readonly date: string;
  /** Local time that does not come, `02:00`. */
  readonly time: string;
}

/**
 * The first night, within a year or so, that Temporal leaves out because the cron's time does not exist in the zone then
 * (seen on server 1.29.1). Looks at crons of one time a day, such as the default; of others it knows nothing.
 *
 * @param from milliseconds since 1970
 */
export function nightLeftOut(
  { cron, timezone }: Pick<ScheduleSettings, 'cron' | 'timezone'>,
  from: number,
): NightLeftOut | null {
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
  for (let day = 1; day <= AHEAD_DAYS; day++) {
    const asUtc = today + day * DAY_MS + (Number(hour) * 60 + Number(minute)) * 60_000;
    const date = new Date(asUtc).toISOString().slice(0, 10);
    // The time exists if, by one of the zone's offsets around it, the clocks show it.
    const offsets = [asUtc - DAY_MS, asUtc + DAY_MS].map((at) => Date.parse(`${local(at)}:00Z`) - at);
    if (!offsets.some((offset) => local(asUtc - offset) === `${date}T${time}`)) return { date, time };
  }
  return null;
}
