import { invalidValue } from './values.js';

const ALLOWED =
  'five fields "minute hour day-of-month month day-of-week" (six with a year at the end, seven with seconds at the start and a year at the end), each with *, numbers, names, ranges 1-5, lists 1,3 and steps */5; or @hourly, @daily, @weekly, @monthly, @yearly, @every 6h';

const FIELDS = /^[\w*,/-]+(?:\s+[\w*,/-]+){4,6}$/;
const NAMED = /^@(?:hourly|daily|midnight|weekly|monthly|yearly|annually|every \S+)$/;

/**
 * Checks a cron expression in Temporal's dialect: its form, and that each value can occur. The server reads
 * text after `#` as a comment, so `#` is not allowed here.
 *
 * @throws RangeError with the message for the file's author.
 */
export function readCron(text: string): string {
  const cron = text.trim();
  if (/^(CRON_)?TZ=/.test(cron))
    throw new RangeError(`${invalidValue(text, ALLOWED)}. Set the time zone in schedule.timezone.`);
  if (NAMED.test(cron)) return cron;
  if (!FIELDS.test(cron)) throw new RangeError(invalidValue(text, ALLOWED));
  const fields = cron.split(/\s+/);
  const names = fields.length === 7 ? ALL_FIELDS : ALL_FIELDS.slice(1);
  for (const [at, field] of fields.entries()) checkField(text, names[at]!, field);
  const [day, month] = fields.length === 7 ? [fields[3]!, fields[4]!] : [fields[2]!, fields[3]!];
  if (/^\d+$/.test(day) && /^\d+$/.test(month) && Number(day) > LONGEST[Number(month) - 1]!)
    throw new RangeError(`${JSON.stringify(text)} never runs: month ${month} has no day ${day}`);
  return cron;
}

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of values from `min` on. */
  readonly words?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
/** Days of the months in a leap year. */
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The fields of Temporal's dialect. Seconds and year are optional. */
const ALL_FIELDS: readonly CronField[] = [
  { name: 'second', min: 0, max: 59 },
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  { name: 'day of week', min: 0, max: 7, words: DAYS },
  { name: 'year', min: 2000, max: 2100 },
];

/** @throws RangeError for a value outside of the field, an empty range or a step of zero */
function checkField(text: string, field: CronField, value: string): void {
  const fail = (part: string, why: string): never => {
    throw new RangeError(
      `${JSON.stringify(text)} has ${field.name} ${JSON.stringify(part)}: ${why}; allowed: ${field.min} to ${field.max}` +
        `${field.words === undefined ? '' : `, or names such as ${field.words[0]}`}, as values, ranges 1-5, lists 1,3 and steps */5`,
    );
  };
  for (const part of value.split(',')) {
    const [, first, last, step] =
      /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(part) ?? fail(part, 'not a value of a cron expression');
    const range = [first, last].flatMap((word) => (word === undefined ? [] : [numberOf(field, word)]));
    if (!range.every((number) => number >= field.min && number <= field.max)) fail(part, 'out of range');
    const [from = 0, to = from] = range;
    if (from > to) fail(part, 'the range ends before it begins');
    if (step !== undefined && Number(step) < 1) fail(part, 'the step is zero');
  }
}

/** NaN for a word that is neither a number nor a name of the field. */
function numberOf({ words = [], min }: CronField, word: string): number {
  if (/^\d+$/.test(word)) return Number(word);
  // The server also accepts longer forms, such as `sunday`.
  const at = words.findIndex((name) => word.toLowerCase().startsWith(name));
  return at === -1 ? Number.NaN : at + min;
}

/** Checks the name of a time zone as Temporal's server does. @throws RangeError like `readCron`. */
export function readTimezone(text: string): string {
  // The default. Its check would load the time zones, which takes 30 ms in each command.
  if (text === 'UTC') return text;
  const allowed = 'a name of the IANA time zone database such as UTC or Europe/Berlin';
  try {
    // Temporal's server rejects offsets (`+01:00`), which newer JavaScript engines accept.
    if (!/^[A-Za-z]/.test(text)) throw new RangeError('no name');
    new Intl.DateTimeFormat('en', { timeZone: text });
  } catch {
    throw new RangeError(invalidValue(text, allowed));
  }
  // JavaScript accepts `europe/berlin`. The server looks for a file with the name, so the case must match.
  const exact = ['UTC', ...Intl.supportedValuesOf('timeZone')].find(
    (zone) => zone.toLowerCase() === text.toLowerCase(),
  );
  if (exact === undefined || exact === text) return text;
  throw new RangeError(`${invalidValue(text, allowed)}. Did you mean ${JSON.stringify(exact)}?`);
}
