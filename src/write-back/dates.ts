import { DateTime, IANAZone } from 'luxon';
import { DAY_MS, MINUTE_MS } from '../core/duration.js';
import { InputError } from '../core/input-error.js';

/** What a text is under a date format: `null` if it does not have the form. */
type DateReading = { readonly iso: string } | { readonly problem: string; readonly remedy: string } | null;

/** Number of texts whose result is kept. Files repeat dates. */
const CACHED = 10_000;

/**
 * Reads dates and times in formats such as `dd.MM.yyyy HH:mm` (the tokens of Luxon, with English names) into ISO 8601:
 * `2026-11-02T07:00:00Z` for a format with hours, `2026-11-02` for one without.
 *
 * A local time that a change of clocks skips or repeats is a problem, never a guess.
 */
export class DateReader {
  readonly #formats: readonly {
    readonly parser: ReturnType<typeof DateTime.buildFormatParser>;
    readonly hasTime: boolean;
    readonly hasZone: boolean;
  }[];
  readonly #timezone: string | null;
  readonly #cache = new Map<string, DateReading>();
  /** By the number of the day. */
  readonly #offsets = new Map<number, number | null>();

  /** @throws InputError for a format that does not name a day, or for a time without a zone */
  constructor(formats: readonly string[], timezone: string | null) {
    if (timezone !== null && !IANAZone.isValidZone(timezone))
      throw new InputError(`${JSON.stringify(timezone)} is not a time zone`, {
        remedy: 'Use a name of the IANA database, such as Europe/Berlin or UTC.',
      });
    this.#timezone = timezone;
    this.#formats = formats.map((format) => {
      // Without its quoted parts.
      const tokens = format.replace(/'[^']*'/g, '');
      checkTokens(format, tokens);
      checkUnits(format, tokens);
      const hasTime = /[Hh]/.test(tokens);
      const hasZone = /[Zz]/.test(tokens);
      if (hasTime && !hasZone && timezone === null)
        throw new InputError(`the date format ${JSON.stringify(format)} has a time without a zone`, {
          remedy: 'Set the time zone with --timezone, such as Europe/Berlin.',
        });
      return { parser: DateTime.buildFormatParser(format, { locale: 'en-US' }), hasTime, hasZone };
    });
  }

  read(text: string): DateReading {
    const known = this.#cache.get(text);
    if (known !== undefined) return known;
    const found = this.#read(text);
    if (this.#cache.size >= CACHED) this.#cache.clear();
    this.#cache.set(text, found);
    return found;
  }

  #read(text: string): DateReading {
    let result: DateReading = null;
    for (const format of this.#formats) {
      // In UTC every local time exists, so this reads the digits as they are.
      const local = DateTime.fromFormatParser(text, format.parser, {
        locale: 'en-US',
        ...(format.hasZone ? { setZone: true } : { zone: 'utc' }),
      });
      if (!local.isValid) continue;
      const found = this.#toIso(local, format);
      if (result !== null && 'iso' in result && 'iso' in found && result.iso !== found.iso)
        return {
          problem: 'has two meanings: two of the date formats match it',
          remedy: 'Give only one of these formats, or write the cell in ISO 8601.',
        };
      result ??= found;
    }
    return result;
  }

  #toIso(
    local: DateTime,
    { hasTime, hasZone }: { hasTime: boolean; hasZone: boolean },
  ): Exclude<DateReading, null> {
    if (local.year < 1000 || local.year > 9999)
      return {
        problem: `is in the year ${local.year}`,
        remedy: 'Correct the cell, or --date-format: yy is a year of two digits.',
      };
    if (!hasTime) return { iso: local.toISODate()! };
    if (hasZone) return { iso: isoOf(local.toMillis()) };
    const steady = this.#steadyOffset(local.toMillis());
    if (steady !== null) return { iso: isoOf(local.toMillis() - steady * MINUTE_MS) };
    const { year, month, day, hour, minute, second, millisecond } = local;
    const zone = this.#timezone!;
    const zoned = DateTime.fromObject({ year, month, day, hour, minute, second, millisecond }, { zone });
    if (zoned.hour !== hour || zoned.minute !== minute || zoned.day !== day)
      return {
        problem: `is a time that does not exist in ${zone}: the clocks go forward`,
        remedy: 'Correct the cell, or write it in ISO 8601 with its offset.',
      };
    const possible = zoned.getPossibleOffsets();
    if (possible.length > 1)
      return {
        problem: `is a time that occurs twice in ${zone}: the clocks go back`,
        remedy: `Write the cell in ISO 8601 with its offset (${possible.map((one) => one.toFormat('ZZ')).join(' or ')}).`,
      };
    return { iso: isoOf(zoned.toMillis()) };
  }

  /**
   * The offset of the zone, in minutes, if it does not change within a day of this time; otherwise `null`. It is kept by day,
   * because asking for an offset costs more than everything else.
   */
  #steadyOffset(localMs: number): number | null {
    const day = Math.floor(localMs / DAY_MS);
    const known = this.#offsets.get(day);
    if (known !== undefined) return known;
    const zone = IANAZone.create(this.#timezone!);
    const before = zone.offset((day - 1) * DAY_MS);
    const offset = before === zone.offset((day + 2) * DAY_MS) ? before : null;
    if (this.#offsets.size >= CACHED) this.#offsets.clear();
    this.#offsets.set(day, offset);
    return offset;
  }
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

function checkTokens(format: string, tokens: string): void {
  // A macro token such as `D` names a date as a whole; it depends on the locale, so it is not accepted.
  const named = /y/.test(tokens) && /[ML]/.test(tokens) && /d/.test(tokens);
  if (named && !/[YDTtFf]/.test(tokens)) return;
  throw new InputError(`the date format ${JSON.stringify(format)} does not name year, month and day`, {
    remedy:
      "Use yyyy, MM and dd, and HH, mm and ss for a time, such as 'dd.MM.yyyy HH:mm'. Put other letters in quotes: yyyy-MM-dd'T'HH:mm.",
  });
}

/** The units of dates and times, with their tokens. */
const UNITS = [/y+/g, /M+|L+/g, /d+/g, /H+|h+/g, /m+/g, /s+/g, /S+|u+/g] as const;

/** `HH:MM` has the month twice, and no minutes: Luxon would read the minutes as the month. */
function checkUnits(format: string, tokens: string): void {
  const counts = UNITS.map((unit) => tokens.match(unit)?.length ?? 0);
  // From the hour on, a unit needs the one before it.
  const isGap = counts.some((count, at) => at > 3 && count > 0 && counts[at - 1] === 0);
  if (!isGap && counts.every((count) => count <= 1)) return;
  throw new InputError(
    `the date format ${JSON.stringify(format)} names ${isGap ? 'a part of the time without the part before it' : 'a part of the date twice'}`,
    { remedy: 'MM is the month, mm the minutes, and ss the seconds.' },
  );
}
