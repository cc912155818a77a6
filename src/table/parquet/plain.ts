import { type ColumnType, decimalOf } from '../rules/column-type.js';
import { encoderOf, type ParquetValue } from '../rules/encode.js';
import type { Years } from '../rules/time.js';
import { readDigits, readUtc } from '../rules/usual-form.js';
import { parquetElement } from './elements.js';

/**
 * Writes the cell in `bytes` from `start` to `end`, which is not null, to `target` at `at` in Parquet's PLAIN encoding
 * (Encodings.md). Here, a boolean takes one byte. The target has room for the bytes of the cell and {@link MAX_EXTRA} more.
 *
 * @returns the number of bytes written; -1 if the type cannot hold the value exactly
 */
export type PlainEncoder = (bytes: Buffer, start: number, end: number, target: Buffer, at: number) => number;

/** How many bytes a value takes at most beyond those of its cell. */
export const MAX_EXTRA = 16;

/** @param years `common` for a type that was inferred, `all` for one that the configuration names */
export function plainEncoderOf(type: ColumnType, years: Years): PlainEncoder {
  if (type === 'string') return writeText;
  const encode = encoderOf(type, years);
  const write = writerOf(type);
  const readUsual = usualForm(type);
  return (bytes, start, end, target, at) => {
    const usual = readUsual(bytes, start, end);
    if (!Number.isNaN(usual)) return writeSafeInteger(usual, target, at);
    const value = encode(bytes.toString('latin1', start, end));
    return value === undefined ? -1 : write(value, target, at) - at;
  };
}

type Reader = (bytes: Buffer, start: number, end: number) => number;

/** Reads values of a type that is stored in 64 bits, if they have the usual form. */
function usualForm(type: ColumnType): Reader {
  if (type === 'timestamp') return readUtc;
  const isStoredInLong = parquetElement('', type).type === 'INT64';
  if (!isStoredInLong) return () => Number.NaN;
  const { precision, scale } = decimalOf(type) ?? { precision: MAX_EXTRA, scale: 0 };
  const limit = 10 ** precision;
  return (bytes, start, end) => {
    const value = readDigits(bytes, start, end, scale);
    return value < limit && value > -limit ? value : Number.NaN;
  };
}

/** @returns the offset after the value */
function writerOf(type: ColumnType): (value: ParquetValue, target: Buffer, at: number) => number {
  switch (parquetElement('', type).type) {
    case 'BOOLEAN':
      return (value, target, at) => target.writeUInt8(value ? 1 : 0, at);
    case 'INT32':
      return (value, target, at) => target.writeInt32LE(value as number, at);
    case 'DOUBLE':
      return (value, target, at) => target.writeDoubleLE(value as number, at);
    case 'INT64':
      return (value, target, at) => target.writeBigInt64LE(value as bigint, at);
    default:
      return (value, target, at) => {
        target.writeBigInt64BE((value as bigint) >> 64n, at);
        return target.writeBigUInt64BE(BigInt.asUintN(64, value as bigint), at + 8);
      };
  }
}

/** A length of 32 bits, and the bytes. */
function writeText(bytes: Buffer, start: number, end: number, target: Buffer, at: number): number {
  target.writeUInt32LE(end - start, at);
  // For a short text, a loop is faster than a call.
  if (end - start > SHORT) bytes.copy(target, at + 4, start, end);
  else for (let from = start, to = at + 4; from < end; from++, to++) target[to] = bytes[from]!;
  return 4 + end - start;
}

const SHORT = 48;
const TWO_32 = 2 ** 32;

/** An integer that is exact as a number, in 64 bits. */
function writeSafeInteger(value: number, target: Buffer, at: number): number {
  const high = Math.floor(value / TWO_32);
  target.writeInt32LE(high, at + 4);
  target.writeUInt32LE(value - high * TWO_32, at);
  return 8;
}
