import type { ByteString } from '../core/brands.js';
import { cellEnd, readCell } from './csv.js';
import { payloadAt } from './row.js';

const NUMBER = /^-?\d+(\.\d+)?$/;
/** ISO 8601: a bare date, or a time with its zone. `Date.parse` alone would find a date in `task 7`, too. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Compares two values of an "updated at" field; `null` where neither is larger or they cannot be compared (DESIGN 3.3). */
export function isLater(a: string | null | undefined, b: string | null | undefined): boolean | null {
  const left = instant(a);
  const right = instant(b);
  if (left?.kind !== right?.kind || left === null || right === null || left.at === right.at) return null;
  return left.at > right.at;
}

/** Numbers stand for themselves; they are no dates, so the two are never compared. */
function instant(value: string | null | undefined): { kind: 'number' | 'date'; at: number } | null {
  if (value === null || value === undefined) return null;
  if (NUMBER.test(value)) return { kind: 'number', at: Number(value) };
  const at = DATE.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : { kind: 'date', at };
}

/** Reads one data column of a row. @param column among the data columns, from 0 */
export function columnReader(column: number, delimiter: string): (row: ByteString) => ByteString | null {
  return (row) => {
    let at = payloadAt(row);
    for (let left = column; left > 0; left--) at = cellEnd(row, at, delimiter) + 1;
    return readCell(row.slice(at, cellEnd(row, at, delimiter)));
  };
}

/** Compares rows of CSV. @param column of the field, among the data columns */
export function newerRows(
  column: number,
  delimiter: string,
): (a: ByteString, b: ByteString) => boolean | null {
  const value = columnReader(column, delimiter);
  return (a, b) => isLater(value(a), value(b));
}
