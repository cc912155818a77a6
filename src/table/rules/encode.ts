import { type ColumnType, decimalOf } from './column-type.js';
import { isNumber, readDate, readNumber, readTimestamp, unscaled, type Years } from './read-values.js';

/** A value as the Parquet writer takes it. */
export type ParquetValue = boolean | bigint | number | Uint8Array;

/** Converts a cell, which is not null; `undefined` if the type cannot hold it exactly. */
export type Encoder = (cell: string) => ParquetValue | undefined;

const MIN_LONG = -(2n ** 63n);
const MAX_LONG = 2n ** 63n - 1n;

/**
 * The encoder of a column.
 *
 * @param years `common` for a type that was inferred, `all` for one in the configuration
 */
export function encoderOf(type: ColumnType, years: Years): Encoder {
  switch (type) {
    case 'string':
      return (cell) => Buffer.from(cell, 'latin1');
    case 'boolean':
      return (cell) => (cell === 'true' ? true : cell === 'false' ? false : undefined);
    case 'long':
      return toLong;
    case 'double':
      return toDouble;
    case 'timestamp':
      return (cell) => readTimestamp(cell, years) ?? undefined;
    case 'date':
      return (cell) => readDate(cell, years) ?? undefined;
    case 'empty':
      return () => undefined;
    default: {
      const { precision, scale } = decimalOf(type)!;
      return (cell) => toDecimal(cell, precision, scale);
    }
  }
}

function toLong(cell: string): bigint | undefined {
  // The common case: too short to be out of range.
  if (cell.length < 19 && /^-?(?:0|[1-9]\d*)$/.test(cell)) return BigInt(cell);
  const number = readNumber(cell);
  if (number === null || number.scale > 0) return undefined;
  const value = unscaled(number, 0);
  return value >= MIN_LONG && value <= MAX_LONG ? value : undefined;
}

function toDecimal(cell: string, precision: number, scale: number): bigint | undefined {
  const number = readNumber(cell);
  if (number === null || number.scale > scale || number.digits.length - number.scale > precision - scale)
    return undefined;
  return unscaled(number, scale);
}

/** Only for a column that the configuration declares as `double`, because it rounds. */
function toDouble(cell: string): number | undefined {
  if (!isNumber(cell)) return undefined;
  const value = Number(cell);
  return Number.isFinite(value) ? value : undefined;
}
