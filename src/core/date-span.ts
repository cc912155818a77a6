import type { EpochMs } from './brands.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './duration.js';
import { daysIn, momentOf, parseIsoTime, readIsoTime } from './utc-time.js';

/** The instants that a date can mean, both inclusive. A time with a zone is a single one. */
export interface DateSpan {
  readonly from: EpochMs;
  readonly to: EpochMs;
}

/** A time without a zone can be anywhere between UTC+14 and UTC-12. */
const EARLIEST_ZONE_MS = 14 * HOUR_MS;
const LATEST_ZONE_MS = 12 * HOUR_MS;

/** Numbers outside of these years, in seconds since 1970, are durations, ids or dates such as 202608091000, and no epochs. */
const MIN_EPOCH = Date.UTC(1990, 0) / 1000;
const MAX_EPOCH = Date.UTC(2100, 0) / 1000;

/** A JSON number. A service may also write its digits as a string. */
const NUMBER = /^\d+(?:\.\d+)?(?:[eE]\+?\d+)?$/;

const DATE =
  /^(?<year>\d{4})(?:(?<dash>-?)(?<month>\d\d)\k<dash>(?<day>\d\d)|-(?<whole>\d\d)|-(?<ordinal>\d{3})|-?W(?<week>\d\d)(?:-?(?<weekday>[1-7]))?)$/;
const TIME =
  /^(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d)(?<fraction>[.,]\d+)?)?)?(?<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?$/;

/**
 * Reads a date or time in a form of ISO 8601, or an epoch number in seconds or milliseconds
 * (docs/explanation/guarantees.md#dates-of-a-window). No other form counts, because a guess can take the day for the month.
 * Also accepts a space instead of `T` (RFC 3339).
 *
 * @returns all instants that the text can mean; `null` for any other text, such as a date that does not exist
 */
export function dateSpan(text: string): DateSpan | null {
  const usual = readIsoTime(text);
  if (usual !== null && usual.precision !== 'day') {
    const from = momentOf(usual);
    if (usual.fractionDigits > 0) return { from, to: from };
    return { from, to: from + (usual.precision === 'minute' ? MINUTE_MS : SECOND_MS) - 1 };
  }
  if (NUMBER.test(text)) {
    const at = epochMs(Number(text));
    if (at !== null) return { from: at, to: at };
  }
  const [, date = text, clock] = /^([^Tt ]+)[Tt ](.+)$/.exec(text) ?? [];
  const days = daySpan(date);
  const time = clock === undefined ? { from: 0, to: DAY_MS - 1, zoneMs: null } : timeOfDay(clock);
  // Only a whole day can have a time of day.
  const isLong = days !== null && days.to - days.from >= DAY_MS;
  if (days === null || time === null || (isLong && clock !== undefined)) return null;
  const from = days.from + time.from;
  const to = isLong ? days.to : days.from + time.to;
  if (time.zoneMs !== null) return { from: from - time.zoneMs, to: to - time.zoneMs };
  return { from: from - EARLIEST_ZONE_MS, to: to + LATEST_ZONE_MS };
}

function epochMs(number: number): number | null {
  if (number >= MIN_EPOCH && number < MAX_EPOCH) return number * 1000;
  return number >= MIN_EPOCH * 1000 && number < MAX_EPOCH * 1000 ? number : null;
}

/** The days in a text, in UTC. */
function daySpan(text: string): DateSpan | null {
  const { year, month, day, whole, ordinal, week, weekday } = DATE.exec(text)?.groups ?? {};
  if (year === undefined) return null;
  if (day !== undefined) return days(parseIsoTime(`${year}-${month}-${day}`), 1);
  if (whole !== undefined)
    return days(parseIsoTime(`${year}-${whole}-01`), daysIn(Number(year), Number(whole)));
  const isInYear = (at: number): boolean => new Date(at).getUTCFullYear() === Number(year);
  if (ordinal !== undefined) {
    const at = parseIsoTime(`${year}-01-01`)! + (Number(ordinal) - 1) * DAY_MS;
    return isInYear(at) ? days(at, 1) : null;
  }
  // The first ISO week of a year has its 4 January, and a week belongs to the year of its Thursday.
  const january4 = parseIsoTime(`${year}-01-04`)!;
  const week1 = january4 - ((new Date(january4).getUTCDay() + 6) % 7) * DAY_MS;
  const monday = week1 + (Number(week) - 1) * 7 * DAY_MS;
  if (!isInYear(monday + 3 * DAY_MS)) return null;
  return weekday === undefined ? days(monday, 7) : days(monday + (Number(weekday) - 1) * DAY_MS, 1);
}

function days(first: number | null, number: number): DateSpan | null {
  return first === null ? null : { from: first, to: first + number * DAY_MS - 1 };
}

/** A time of day as the span that its precision leaves open, and its zone's offset in ms; `null` for no zone. */
function timeOfDay(text: string): (DateSpan & { readonly zoneMs: number | null }) | null {
  const groups = TIME.exec(text)?.groups;
  if (groups === undefined) return null;
  const [hour, minute, second] = [groups.hour, groups.minute, groups.second].map((part) => Number(part ?? 0));
  const fraction = Number((groups.fraction ?? '.0').replace(',', '.'));
  const from = hour! * HOUR_MS + minute! * MINUTE_MS + second! * SECOND_MS + Math.floor(fraction * 1000);
  // ISO 8601 writes the end of a day as 24:00, and a leap second as 23:59:60.
  if (hour! > 24 || minute! > 59 || second! > 60 || from > DAY_MS) return null;
  const precision =
    groups.minute === undefined ? HOUR_MS : groups.second === undefined ? MINUTE_MS : SECOND_MS;
  const zoneMs = zoneOffset(groups.zone);
  if (zoneMs === undefined) return null;
  return { from, to: from + (groups.fraction === undefined ? precision - 1 : 0), zoneMs };
}

/** @returns the offset in ms; `null` for no zone; `undefined` for a zone that does not exist */
function zoneOffset(zone: string | undefined): number | null | undefined {
  if (zone === undefined) return null;
  if (/^z$/i.test(zone)) return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone[0] === '-' ? -1 : 1) * (hours * HOUR_MS + minutes * MINUTE_MS);
}

const LONGEST_FORM = 24;

/**
 * The form of a value, without its content: `0` for each digit and `x` for each letter. Messages show it instead of the value,
 * because record content never enters a history or a log.
 */
export function formOf(text: string): string {
  const form = text
    .slice(0, LONGEST_FORM)
    .replace(/\p{L}/gu, 'x')
    .replace(/\p{N}/gu, '0')
    .replace(/[^\x20-\x7e]+/gu, '?');
  return text.length > LONGEST_FORM ? `${form}...` : form;
}
