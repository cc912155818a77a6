import { type DateSpan, dateSpan, formOf } from '../../core/date-span.js';
import { DAY_MS } from '../../core/duration.js';
import type { ProbedPage } from './service-probe.js';

/** Clocks and zones differ, and a service may count whole days. */
const TOLERANCE_MS = 2 * DAY_MS;
/** A time of creation or of a change often lies close to the date of an entry, but does not decide what the list shows. */
const CHANGE_TIME = /creat|insert|updat|modif|chang|sync/i;
/** The oldest value of the field lies this close to the window's edge, as a share of the window. */
const NEAR_EDGE = 0.2;

/** Why a field that fits is not proposed. If it is configured, it stays. */
export const FITS_BY_CHANCE = 'has only dates inside the window, but seems to be the time of a change';

/** Why a field cannot be judged: the account may be younger than the window. */
export const NOT_NEAR_EDGE = 'has no date near the edge of the window, so the list may be too short to tell';

/** What the values of a column say about its being the date of the window. */
interface ColumnSummary {
  /** Rows with a value. */
  filled: number;
  /** The first value that is no date, as a form; `null`: all are dates. */
  otherForm: string | null;
  oldest: DateSpan;
  newest: DateSpan;
}

/** The result of a search for the date field. */
interface WindowFields {
  /** Fields that date the window as far as the list shows, the one with its oldest value nearest to the edge first. */
  readonly fields: readonly string[];
  /** Why other fields were left out, by field. */
  readonly rejected: ReadonlyMap<string, string>;
  readonly rows: number;
}

/** A row of the lake: values as text, by field. */
export type KnownRow = Readonly<Record<string, string | null>>;

/** Collects the values of a windowed list, to find the field that dates its window. */
export class WindowFieldSearch {
  readonly #columns = new Map<string, ColumnSummary>();
  #rows = 0;

  add({ rows }: Pick<ProbedPage, 'rows'>): void {
    for (const row of rows) {
      this.#rows++;
      for (const [field, text] of row) this.#note(field, text);
    }
  }

  #note(field: string, text: string): void {
    if (text === '') return;
    const known = this.#columns.get(field);
    const span = known !== undefined && known.otherForm !== null ? null : dateSpan(text);
    if (known === undefined) {
      const none = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
      const otherForm = span === null ? formOf(text) : null;
      this.#columns.set(field, { filled: 1, otherForm, oldest: span ?? none, newest: span ?? none });
      return;
    }
    known.filled++;
    if (span === null) known.otherForm ??= formOf(text);
    else {
      if (span.from < known.oldest.from) known.oldest = span;
      if (span.to > known.newest.to) known.newest = span;
    }
  }

  /**
   * The columns that are filled in all rows, hold only dates, and have no value outside of the window while their oldest value lies
   * near its edge.
   *
   * @param now the service's clock, milliseconds since 1970
   */
  result(now: number, windowMs: number): WindowFields {
    const edge = now - windowMs;
    const rejected = new Map<string, string>();
    const found: { field: string; distance: number }[] = [];
    for (const [field, column] of this.#columns) {
      const { filled, otherForm, oldest, newest } = column;
      const distance = (oldest.from + oldest.to) / 2 - edge;
      if (otherForm !== null) rejected.set(field, `has a value of the form "${otherForm}", which is no date`);
      else if (filled < this.#rows)
        rejected.set(field, `has no value in ${this.#rows - filled} of ${this.#rows} rows`);
      else if (oldest.to < edge - TOLERANCE_MS) rejected.set(field, 'has dates before the window');
      else if (newest.from > now + TOLERANCE_MS) rejected.set(field, 'has dates in the future');
      else if (distance > Math.max(TOLERANCE_MS, NEAR_EDGE * windowMs)) rejected.set(field, NOT_NEAR_EDGE);
      else if (CHANGE_TIME.test(field)) rejected.set(field, FITS_BY_CHANCE);
      else found.push({ field, distance: Math.abs(distance) });
    }
    const fields = found.sort((a, b) => a.distance - b.distance).map(({ field }) => field);
    return { fields, rejected, rows: this.#rows };
  }
}

/**
 * For each field, how many rows that the mirror has once read and the list no longer shows are well inside the window by this field.
 * They have left the window, so the field that dates it has only those that were deleted. This compares the list with earlier
 * readings of it.
 */
export function insideByField(
  fields: readonly string[],
  unlisted: Iterable<KnownRow>,
  { now, windowMs }: { readonly now: number; readonly windowMs: number },
): Map<string, number> {
  const inside = new Map(fields.map((field) => [field, 0]));
  for (const row of unlisted) {
    for (const field of fields) {
      const span = dateSpan(row[field] ?? '');
      if (span !== null && span.from > now - windowMs + TOLERANCE_MS && span.to <= now)
        inside.set(field, inside.get(field)! + 1);
    }
  }
  return inside;
}
