import type { Cells } from '../api/json/record.js';
import type { ByteString } from '../core/brands.js';
import { cellEnd, readCell } from './csv.js';
import { payloadAt } from './row.js';

/** Compares two values of an "updated at" field; `null` where neither is larger or they cannot be compared (DESIGN 3.3). */
export function isLater(a: string | null | undefined, b: string | null | undefined): boolean | null {
  const left = instant(a);
  const right = instant(b);
  if (left === null || right === null || left === right) return null;
  return left > right;
}

/** Numbers stand for themselves, everything else must be a date with its zone or a bare date. */
function instant(value: string | null | undefined): number | null {
  if (value === null || value === undefined || value === '') return null;
  const number = /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : Date.parse(value);
  return Number.isFinite(number) ? number : null;
}

/** Compares fetched records. @param column of the field */
export function newerCells(column: number): (a: Cells, b: Cells) => boolean | null {
  return (a, b) => isLater(a[column], b[column]);
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
