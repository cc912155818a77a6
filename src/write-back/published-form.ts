import { readIsoTime } from '../core/utc-time.js';
import { Format } from '../core/value-facts.js';
import { type Column, typeNames } from '../lake/rows/schema.js';

/** What all published values of a column are, as far as a cell must be the same. */
export type PublishedForm = IsoForm | 'number' | 'boolean';

/** Forms of ISO 8601. */
export type IsoForm = 'date' | 'time' | 'date or time';

export function isIsoForm(form: PublishedForm | null): form is IsoForm {
  return form === 'date' || form === 'time' || form === 'date or time';
}

/** Names for messages. */
export const FORM_NAMES: Readonly<Record<PublishedForm, string>> = {
  date: 'a date in ISO 8601 (2026-11-02)',
  time: 'a time in ISO 8601 with a zone (2026-11-02T08:00:00Z)',
  'date or time': 'a date or time in ISO 8601 (2026-11-02, 2026-11-02T08:00:00Z)',
  number: 'a number',
  boolean: 'true or false',
};

/** The form of a column; `null` if its published values do not have one. */
export function formOf({ types, values }: Column): PublishedForm | null {
  const names = typeNames(types).filter((name) => name !== 'null');
  if (names.length === 0) return null;
  if (names.every((name) => name === 'integer' || name === 'number')) return 'number';
  if (names.length > 1) return null;
  if (names[0] === 'boolean') return 'boolean';
  if (names[0] !== 'string' || values === undefined || (values.formats & Format.text) !== 0) return null;
  const dates = (values.formats & Format.date) !== 0;
  const times = (values.formats & (Format.millis | Format.micros)) !== 0;
  if (dates && times) return 'date or time';
  return dates ? 'date' : times ? 'time' : null;
}

/**
 * Whether a text is a date or time of a form. The seconds can be left out, and have any number of digits; the zone has a colon.
 */
export function isIso(text: string, form: IsoForm): boolean {
  const time = readIsoTime(text);
  if (time === null) return false;
  if (time.precision === 'day') return form !== 'time';
  return form !== 'date' && (time.zone === 'Z' || time.zone.includes(':'));
}
