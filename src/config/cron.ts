import { invalidValue } from './values.js';

const ALLOWED =
  'five fields "minute hour day-of-month month day-of-week" (six with a year at the end, seven with seconds at the start and a year at the end), or @hourly, @daily, @weekly, @monthly, @yearly, @every 6h';

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words?: string;
}

const FIELDS: readonly Field[] = [
  { name: 'second', min: 0, max: 59 },
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: 'jan feb mar apr may jun jul aug sep oct nov dec' },
  { name: 'day of the week', min: 0, max: 7, words: 'sun mon tue wed thu fri sat' },
  { name: 'year', min: 2000, max: 2100 },
];

/**
 * Checks a cron expression in Temporal's dialect. The server makes the final check; this one finds most mistakes before
 * `schedule apply`.
 *
 * @throws RangeError with the message for the file's author.
 */
export function readCron(text: string): string {
  const cron = text.trim();
  if (/^(CRON_)?TZ=/.test(cron))
    throw new RangeError(`${invalidValue(text, ALLOWED)}. Set the time zone in schedule.timezone.`);
  if (cron.startsWith('@')) {
    if (
      /^@(hourly|daily|midnight|weekly|monthly|yearly|annually|every (\d+[smhd])+(\/(\d+[smhd])+)?)$/.test(
        cron,
      )
    )
      return cron;
    throw new RangeError(invalidValue(text, ALLOWED));
  }
  const parts = cron.split(/\s+/);
  const fields = FIELDS.slice(parts.length === 7 ? 0 : 1, parts.length === 5 ? 6 : 7);
  if (parts.length !== fields.length) throw new RangeError(invalidValue(text, ALLOWED));
  for (const [i, field] of fields.entries()) {
    const part = parts[i] ?? '';
    if (part.split(',').every((item) => fits(item, field))) continue;
    throw new RangeError(
      `found ${JSON.stringify(part)} as the ${field.name} in ${JSON.stringify(cron)}; allowed: *, ${field.min} to ${field.max}, ranges 1-5, lists 1,3 and steps */5`,
    );
  }
  return cron;
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

function fits(item: string, { min, max, words = '' }: Field): boolean {
  const match = /^(\*|\?|[a-z]+|\d+)(?:-([a-z]+|\d+))?(?:\/(\d+))?$/i.exec(item);
  if (!match) return false;
  const [, from = '', to, step] = match;
  if (step !== undefined && (Number(step) < 1 || Number(step) > max)) return false;
  if (from === '*' || from === '?') return to === undefined;
  return [from, to ?? from].every((value) => {
    if (/^\d/.test(value)) return Number(value) >= min && Number(value) <= max;
    return words !== '' && words.split(' ').includes(value.slice(0, 3).toLowerCase());
  });
}
