/**
 * The first year that an inferred time or date may have. Some engines reject earlier ones in files of other writers,
 * because of the calendar reform. A column with earlier values is text, unless `tables.types` says otherwise.
 */
const FIRST_YEAR = 1900;

/** Which years are accepted: those that every engine reads, or all that a type can hold. */
export type Years = 'common' | 'all';

/** The first and the last day that are accepted, in days since 1970. Times are compared in UTC. */
const FIRST_DAY: Readonly<Record<Years, number>> = { common: dayOf(FIRST_YEAR, 1, 1)!, all: dayOf(1, 1, 1)! };
const LAST_DAY = dayOf(9999, 12, 31)!;

const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;

/** Microseconds since 1970 of a time with a zone (RFC 3339); `null` for other text, or for a part of a microsecond. */
export function readTimestamp(text: string, years: Years): bigint | null {
  const found = TIME.exec(text);
  if (found === null) return null;
  const [, year, month, day, hour, minute, second, fraction = '', sign, zoneHour, zoneMinute] = found;
  const date = dayOf(Number(year), Number(month), Number(day));
  if (date === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  if (fraction.length > 6 && !/^0*$/.test(fraction.slice(6))) return null;
  let seconds = date * 86_400 + Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  if (sign !== undefined) {
    if (Number(zoneHour) > 23 || Number(zoneMinute) > 59) return null;
    const offset = Number(zoneHour) * 3600 + Number(zoneMinute) * 60;
    seconds += sign === '+' ? -offset : offset;
  }
  const utcDay = Math.floor(seconds / 86_400);
  if (utcDay < FIRST_DAY[years] || utcDay > LAST_DAY) return null;
  const micros = fraction === '' ? 0 : Number(`${fraction}000000`.slice(0, 6));
  return BigInt(seconds) * 1_000_000n + BigInt(micros);
}

/** Days since 1970 of a date such as `2026-11-21`; `null` for other text. */
export function readDate(text: string, years: Years): number | null {
  const found = DATE.exec(text);
  const day = found === null ? null : dayOf(Number(found[1]), Number(found[2]), Number(found[3]));
  return day === null || day < FIRST_DAY[years] ? null : day;
}

/** Days since 1970; `null` if the date does not exist. */
function dayOf(year: number, month: number, day: number): number | null {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? date.getTime() / 86_400_000 : null;
}
