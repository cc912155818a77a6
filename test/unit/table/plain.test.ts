import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_EXTRA, plainEncoderOf } from '../../../src/table/parquet/plain.js';
import { type ColumnType, decimalOf } from '../../../src/table/rules/column-type.js';
import { encoderOf, type ParquetValue } from '../../../src/table/rules/encode.js';

const TYPES: readonly ColumnType[] = [
  ...(['long', 'timestamp', 'date', 'double', 'boolean', 'string'] as const),
  ...(['decimal(18,2)', 'decimal(18,9)', 'decimal(4,2)', 'decimal(38,10)', 'decimal(18,18)'] as const),
];

/** Encodes a text within other bytes, and decodes what was written. */
function encoded(type: ColumnType, years: 'common' | 'all', text: string): ParquetValue | undefined {
  const bytes = Buffer.from(`x${text}9`, 'latin1');
  const target = Buffer.alloc(3 + bytes.length + MAX_EXTRA, 0xee);
  const size = plainEncoderOf(type, years)(bytes, 1, bytes.length - 1, target, 3);
  if (size === -1) return undefined;
  const around = Buffer.concat([target.subarray(0, 3), target.subarray(3 + size)]);
  if (!around.every((byte) => byte === 0xee))
    throw new Error(`${text} as ${type} is written beyond its place`);
  return decode(type, target.subarray(3, 3 + size));
}

/** Reads PLAIN values as the format defines them. */
function decode(type: ColumnType, bytes: Buffer): ParquetValue {
  if (type === 'boolean') return bytes.length === 1 && bytes[0] === 1;
  if (type === 'date') return bytes.length === 4 ? bytes.readInt32LE() : Number.NaN;
  if (type === 'double') return bytes.length === 8 ? bytes.readDoubleLE() : Number.NaN;
  if (type === 'string') return Buffer.from(bytes.subarray(4, 4 + bytes.readUInt32LE()));
  if ((decimalOf(type)?.precision ?? 0) <= 18) return bytes.length === 8 ? bytes.readBigInt64LE() : -1n;
  return bytes.length === 16 ? (bytes.readBigInt64BE() << 64n) + bytes.readBigUInt64BE(8) : -1n;
}

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 0, maxLength: 22 });
const numbers = fc
  .tuple(fc.constantFrom('', '-', '+'), digits, fc.constantFrom('', '.', 'e', '.5e'), digits)
  .map((parts) => parts.join(''));
const two = fc.oneof(
  fc.integer({ min: 0, max: 61 }).map((n) => String(n).padStart(2, '0')),
  fc.constantFrom('0x', ' 1', '-1', '1'),
);
const times = fc
  .tuple(
    fc.oneof(fc.integer({ min: 1, max: 9999 }), fc.constantFrom(1899, 1900, 2000, 2024, 2100, 2199, 2200)),
    two,
    fc.constantFrom('28', '29', '30', '31', '32', '00', '01', '15'),
    two,
    two,
    two,
    fc.constantFrom('', '.5', '.123', '.000', '.999', '.12x', '.123456', '.1234567'),
    fc.constantFrom('Z', 'z', '', '+05:30', '-01:00'),
  )
  .map(
    ([year, month, day, hour, minute, second, fraction, zone]) =>
      `${String(year).padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`,
  );
const cells = fc.oneof(
  numbers,
  times,
  fc.constantFrom('true', 'false', 'yes', '-0', '0', '00', '2026-02-29'),
);

describe('a value in the PLAIN encoding', () => {
  it('is the one that the rules for all texts give, in every type', () => {
    let known = 0;
    fc.assert(
      fc.property(cells, fc.constantFrom('common', 'all'), (text, years) => {
        for (const type of TYPES) {
          const expected = encoderOf(type, years)(text);
          const value = encoded(type, years, text);
          if (value !== expected) expect(value, `${JSON.stringify(text)} as ${type}`).toEqual(expected);
          if (type !== 'string' && expected !== undefined) known++;
        }
      }),
      { numRuns: 4000 },
    );
    expect(known).toBeGreaterThan(1000);
  });

  it('is exact at the limits of what a number holds', () => {
    for (const text of ['999999999999999', '-999999999999999', '9007199254740993', '9223372036854775807'])
      expect(encoded('long', 'common', text)).toBe(BigInt(text));
    expect(encoded('long', 'common', '9223372036854775808')).toBeUndefined();
    expect(encoded('decimal(18,9)', 'common', '999999.999999999')).toBe(999999999999999n);
    expect(encoded('decimal(18,9)', 'common', '-9999999.5')).toBe(-9999999500000000n);
    expect(encoded('decimal(4,2)', 'common', '100')).toBeUndefined();
    expect(encoded('timestamp', 'common', '2199-12-31T23:59:59.999Z')).toBe(7258118399999000n);
    expect(encoded('timestamp', 'common', '1900-01-01T00:00:00Z')).toBe(-2208988800000000n);
    expect(encoded('timestamp', 'all', '0001-01-01T00:00:00Z')).toBe(-62135596800000000n);
  });
});
