import type { EpochMs } from '../../core/brands.js';
import { dateSpan } from '../../core/date-span.js';
import { SECOND_MS } from '../../core/duration.js';
import type { ResourceSettings } from '../../core/settings.js';
import { columnReader } from '../../lake/rows/newer.js';
import type { SortKey } from '../../lake/rows/row.js';
import type { Page } from './page-reader.js';

/** The times of change on a page. */
export interface PageTimes {
  readonly first: EpochMs;
  readonly last: EpochMs;
}

/**
 * The times of change on a page whose records are in their order. `null`: a record has none that is exact to the second, or an earlier one
 * than the record before it.
 *
 * @param names of the data columns
 */
export function timesOf(
  { records, rows }: Pick<Page, 'records' | 'rows'>,
  names: readonly string[],
  { updatedAtField, csv }: Pick<ResourceSettings, 'updatedAtField' | 'csv'>,
): PageTimes | null {
  const column = updatedAtField === null ? -1 : names.indexOf(updatedAtField);
  // Other records were set aside.
  if (column === -1 || rows.rows !== records) return null;
  const read = columnReader(column, csv);
  let first: number | null = null;
  let last = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < records; at++) {
    const time = rows.width(at) > column ? exactTime(read(rows.row(at))) : null;
    if (time === null || time < last) return null;
    first ??= time;
    last = time;
  }
  return first === null ? null : { first, last };
}

function exactTime(text: string | null): number | null {
  const span = text === null ? null : dateSpan(text);
  return span !== null && span.to - span.from < SECOND_MS ? span.from : null;
}

/** Records of a page that may have changed since, as a share. */
const CHANGED_SHARE = 0.1;

/** Whether a page that was requested again, by time instead of by cursor, shows the same records in the same order. */
export function showsSame(before: readonly SortKey[], again: readonly SortKey[]): boolean {
  const listed = new Set(again);
  const kept = before.filter((key) => listed.has(key));
  const last = kept.at(-1);
  if (last === undefined) return false;
  // The page may end within them, if other records have the same time as the first one.
  const reach = again.at(-1) === last ? before.indexOf(last) + 1 : before.length;
  if (kept.length < (1 - CHANGED_SHARE) * reach) return false;
  const known = new Set(before);
  return again.filter((key) => known.has(key)).every((key, at) => key === kept[at]);
}
