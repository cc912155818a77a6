const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const LONG_DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const MONTHS: readonly string[] = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
];

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
const MONTH = `(?<month>${MONTHS.join('|')})`;
const FORMS = [
  new RegExp(String.raw`^(?:${DAYS.join('|')}), (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^(?:${LONG_DAYS.join('|')}), (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  new RegExp(String.raw`^(?:${DAYS.join('|')}) ${MONTH} (?<day>\d\d| \d) ${TIME} (?<year>\d{4})$`),
];

/**
 * Parses an HTTP-date (RFC 9110 5.6.7) in any of its three forms: IMF-fixdate, RFC 850 and asctime. A two-digit year
 * more than 50 years after `nowMs` belongs to the previous century.
 * Returns milliseconds since the epoch, or null for an invalid date, such as 30 February.
 */
export function parseHttpDate(text: string, nowMs: number): number | null {
  for (const form of FORMS) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const part = (name: string): number => Number(groups[name]);
    const month = MONTHS.indexOf(groups.month ?? '');
    const digits = groups.year ?? '';
    const year = digits.length === 2 ? fullYear(Number(digits), nowMs) : Number(digits);
    return toInstant(year, month, part('day'), part('hour'), part('minute'), part('second'));
  }
  return null;
}

function fullYear(twoDigits: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear();
  const year = now - (now % 100) + twoDigits;
  return year > now + 50 ? year - 100 : year;
}

function toInstant(year: number, month: number, day: number, hour: number, minute: number, second: number) {
  // The grammar allows 60 for a leap second; it counts as the first second of the next minute.
  if (hour > 23 || minute > 59 || second > 60) return null;
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month, day);
  if (midnight.getUTCMonth() !== month || midnight.getUTCDate() !== day) return null;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
}
