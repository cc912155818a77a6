import type { ByteString } from '../../core/brands.js';
import { compareWith, decimalLimit, EXACT_DIGITS } from '../../core/decimal.js';
import type { CsvSettings, ResourceSettings } from '../../core/settings.js';
import { readIsoTime } from '../../core/utc-time.js';
import { cellEnd, readCell } from './csv.js';
import { cellDecoder, type Escaping } from './escaping.js';
import { isTombstone, payloadAt, withValuesOf } from './row.js';

const NUMBER = /^-?\d+(\.\d+)?$/;

/** Whether `a` is later than `b`, both values of an "updated at" field; `null` if they are equal or not comparable (docs/explanation/guarantees.md#newest-wins). */
export function isLater(a: string | null | undefined, b: string | null | undefined): boolean | null {
  const order = a && b ? compared(a, b) : 0;
  return order === 0 ? null : order > 0;
}

/**
 * Compares two numbers, of any length, or two dates, to the microsecond: negative, 0 or positive, and 0 for values that cannot
 * be compared, such as a number and a date.
 */
function compared(a: string, b: string): number {
  if (NUMBER.test(a)) {
    if (!NUMBER.test(b)) return 0;
    // A double tells so many digits apart, in a third of the time.
    if (a.length <= EXACT_DIGITS && b.length <= EXACT_DIGITS) return Number(a) - Number(b);
    return compareWith(a, decimalLimit(b))!;
  }
  const [left, right] = [readIsoTime(a), readIsoTime(b)];
  return left === null || right === null ? 0 : left.seconds - right.seconds || left.micros - right.micros;
}

/** How values are written in a row. */
type CellFormat = Escaping & Pick<CsvSettings, 'delimiter'>;

/** Returns a function that reads the value of one data column of a row. @param column position among the data columns, from 0 */
export function columnReader(column: number, csv: CellFormat): (row: ByteString) => ByteString | null {
  const { delimiter } = csv;
  const decode = cellDecoder(csv);
  return (row) => {
    let at = payloadAt(row);
    for (let left = column; left > 0; left--) at = cellEnd(row, at, delimiter) + 1;
    const cell = readCell(row.slice(at, cellEnd(row, at, delimiter)));
    return cell === null || decode === null ? cell : decode(cell);
  };
}

/** How two versions of a record are compared. */
export interface VersionRules {
  /** Whether the first row is newer than the second by its "updated at" field; `null` where the field does not decide. */
  readonly isNewer: ((a: ByteString, b: ByteString) => boolean | null) | null;
  /** Whether fetched rows may be tombstones: records that say that they are deleted. */
  readonly hasTombstones: boolean;
  readonly delimiter: string;
}

/** The rules of a resource. @param names of the data columns */
export function versionRules(
  { updatedAtField, deleted, csv }: Pick<ResourceSettings, 'updatedAtField' | 'deleted' | 'csv'>,
  names: readonly string[],
): VersionRules {
  const isNewer = newerByField(updatedAtField, names, csv);
  return { isNewer, hasTombstones: deleted !== null, delimiter: csv.delimiter };
}

/** The version of a record that counts, of two that were fetched in turn (docs/explanation/guarantees.md#newest-wins). */
export function newestOf(
  first: ByteString,
  then: ByteString,
  { isNewer, hasTombstones, delimiter }: VersionRules,
): ByteString {
  const [older, newer] = isNewer?.(first, then) === true ? [then, first] : [first, then];
  return hasTombstones && isTombstone(newer) ? withValuesOf(newer, older, delimiter) : newer;
}

/** As `newerRows`, for a field by its name; `null` if there is no such column. @param names of the data columns */
export function newerByField(
  field: string | null,
  names: readonly string[],
  csv: CellFormat,
): ReturnType<typeof newerRows> | null {
  const column = field === null ? -1 : names.indexOf(field);
  return column === -1 ? null : newerRows(column, csv);
}

/** Returns a function that compares CSV rows by a field. @param column position of the field among the data columns */
export function newerRows(column: number, csv: CellFormat): (a: ByteString, b: ByteString) => boolean | null {
  const value = columnReader(column, csv);
  return (a, b) => isLater(value(a), value(b));
}
