import type { ByteString } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import type { ResourceSettings } from '../../core/settings.js';
import { columnReader } from '../rows/newer.js';
import type { Column } from '../rows/schema.js';

/** The delete limit: this share of the rows or this number, whichever is larger (docs/explanation/semantics.md#deletes). */
const DELETE_LIMIT_SHARE = 0.1;
const DELETE_LIMIT_ROWS = 20;

/** Whether a number of deletes exceeds what a run may apply without permission. @param rows rows of the base snapshot */
export function exceedsDeleteLimit(deletes: number, rows: number): boolean {
  return deletes > DELETE_LIMIT_ROWS && deletes > DELETE_LIMIT_SHARE * rows;
}

/** Rows this close to the window's edge may leave the window during the run. */
const EDGE_MS = 2 * DAY_MS;

/**
 * Returns a function that tests whether a row's absence from the list can mean a delete. Without a window it always
 * can. With a window, the row's date must be well inside it.
 *
 * @param now time on the service's clock, milliseconds since 1970
 */
export function isEligible(
  resource: Pick<ResourceSettings, 'windowMs' | 'windowField' | 'csv'>,
  columns: readonly Column[],
  now: number,
): (row: ByteString) => boolean {
  const { windowMs, windowField, csv } = resource;
  if (windowMs === null) return () => true;
  const at = columns.findIndex((column) => column.name === windowField);
  if (at === -1) return () => false;
  const read = columnReader(at, csv);
  const edge = now - windowMs + EDGE_MS;
  return (row) => {
    const date = Date.parse(read(row) ?? '');
    // A record with a future date may not be in the list yet.
    return date > edge && date <= now;
  };
}

/**
 * Whether deletes of a resource can be detected (docs/explanation/semantics.md#deletes). The list must contain every
 * record, or every record in a window whose date field is known.
 */
export function canDetectDeletes({
  deletes,
  windowMs,
  windowField,
}: Pick<ResourceSettings, 'deletes' | 'windowMs' | 'windowField'>): boolean {
  return deletes !== 'keep' && (windowMs === null || windowField !== null);
}
