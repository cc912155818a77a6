import { invalidValue } from './values.js';

const ALLOWED =
  'five fields "minute hour day-of-month month day-of-week" (six with a year at the end, seven with seconds at the start and a year at the end), each with *, numbers, names, ranges 1-5, lists 1,3 and steps */5; or @hourly, @daily, @weekly, @monthly, @yearly, @every 6h';

const FIELDS = /^[\w*,/-]+(?:\s+[\w*,/-]+){4,6}$/;
const NAMED = /^@(?:hourly|daily|midnight|weekly|monthly|yearly|annually|every \S+)$/;

/**
 * Checks the form of a cron expression in Temporal's dialect. The server checks the values in `schedule apply`. It reads
 * text after `#` as a comment, so `#` is not allowed here.
 *
 * @throws RangeError with the message for the file's author.
 */
export function readCron(text: string): string {
  const cron = text.trim();
  if (/^(CRON_)?TZ=/.test(cron))
    throw new RangeError(`${invalidValue(text, ALLOWED)}. Set the time zone in schedule.timezone.`);
  if (FIELDS.test(cron) || NAMED.test(cron)) return cron;
  throw new RangeError(invalidValue(text, ALLOWED));
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
