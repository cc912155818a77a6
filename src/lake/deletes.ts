import type { ByteString } from '../core/brands.js';
import type { ResourceSettings } from '../core/settings.js';
import { columnReader } from './newer.js';
import type { Column } from './schema.js';

/** At most this share of the rows, or this many where that is more, may be deleted unasked (DESIGN 3.5). */
const FUSE_SHARE = 0.1;
const FUSE_ROWS = 20;

/** Whether so many deletes are more than a run may conclude without being told to. */
export function blowsFuse(deletes: number, rows: number): boolean {
  return deletes > FUSE_ROWS && deletes > FUSE_SHARE * rows;
}

const DAY_MS = 24 * 60 * 60_000;
/** Rows this near to the window's edge may just be leaving it. */
const EDGE_MS = 2 * DAY_MS;

/**
 * Whether a row's absence from the list can mean that its record is gone: always without a window, and within one
 * only for a date well inside it.
 *
 * @param now the service's clock, milliseconds since 1970
 */
export function canBeConcluded(
  resource: Pick<ResourceSettings, 'windowMs' | 'windowField' | 'csv'>,
  columns: readonly Column[],
  now: number,
): (row: ByteString) => boolean {
  const { windowMs, windowField, csv } = resource;
  if (windowMs === null) return () => true;
  const at = columns.findIndex((column) => column.name === windowField);
  if (at === -1) return () => false;
  const read = columnReader(at, csv.delimiter);
  const edge = now - windowMs + EDGE_MS;
  return (row) => {
    const date = Date.parse(read(row) ?? '');
    // A date in the future is no evidence either way: the list may not show it yet.
    return date > edge && date <= now;
  };
}
