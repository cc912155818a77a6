import { describe, expect, it } from 'vitest';
import {
  joinTypes,
  startType,
  typeOfValues,
  type ValueClass,
  valueClass,
} from '../../../src/table/rules/column-type.js';
import { encoderOf } from '../../../src/table/rules/encode.js';
import { typeBits } from '../../support/column-types.js';

const typeOf = (kind: ValueClass, ...cells: string[]) => typeOfValues(kind, cells);

describe('the type of a column', () => {
  it('is long for integers of 64 bits, decimal(38,0) for larger ones, and text beyond 38 digits', () => {
    expect(typeOf('integer', '0', '-9223372036854775808', '9223372036854775807')).toBe('long');
    expect(typeOf('integer', '1', '9223372036854775808')).toBe('decimal(38,0)');
    expect(typeOf('integer', '9'.repeat(38))).toBe('decimal(38,0)');
    expect(typeOf('integer', '1', '9'.repeat(39))).toBe('string');
  });

  it('is the decimal that holds all numbers exactly, or text', () => {
    expect(typeOf('number', '12.50', '-0', '7')).toBe('decimal(18,2)');
    expect(typeOf('number', '12.50', '0.125')).toBe('decimal(18,4)');
    expect(typeOf('number', '1e21', '0.5')).toBe('decimal(38,2)');
    expect(typeOf('number', '1E-7')).toBe('decimal(18,9)');
    expect(typeOf('number', '-123456789012345678901234567890.12345678')).toBe('decimal(38,8)');
    expect(typeOf('number', '-123456789012345678901234567890.123456789')).toBe('string');
    expect(typeOf('number', '1e400', '1')).toBe('string');
  });

  it('widens long to a decimal when a fraction appears', () => {
    expect(joinTypes('long', 'decimal(18,2)')).toBe('decimal(38,2)');
    expect(joinTypes('decimal(38,0)', 'decimal(18,2)')).toBe('string');
    expect(joinTypes('decimal(18,2)', 'decimal(18,4)')).toBe('decimal(38,4)');
    expect(joinTypes('empty', 'date')).toBe('date');
  });

  it('is timestamp for RFC 3339 times with a zone, date for dates, and text for a mixture or for parts of a microsecond', () => {
    expect(typeOf('string', '2026-11-21T02:00:00Z', '2026-11-21T02:00:00.123456+05:30')).toBe('timestamp');
    expect(typeOf('string', '2026-11-21', '1999-02-28')).toBe('date');
    expect(typeOf('string', '2026-11-21', '2026-11-21T02:00:00Z')).toBe('string');
    for (const text of [
      ...['2026-11-21T02:00:00', '2026-11-21T02:00:00.1234567Z', '2026-11-21T24:00:00Z', '2026-02-29'],
      ...['2026-11-21T02:00:60Z', '1899-12-31', '2026-11-21 02:00:00Z', '2026-1-1', '12', 'true', ''],
    ])
      expect(typeOf('string', text), text).toBe('string');
  });

  it('is text for values of different JSON types, even if they look alike', () => {
    expect(valueClass(typeBits(['integer', 'string', 'null']))).toBe('text');
    expect(valueClass(typeBits(['object']))).toBe('text');
    expect(startType('long', typeBits(['integer', 'string']))).toBe('string');
    expect(startType('long', typeBits(['integer', 'number']))).toBe('long');
    expect(startType('long', typeBits(['string']))).toBe('string');
    expect(startType('empty', typeBits(['null']))).toBe('empty');
    expect(typeOf('boolean', 'true', 'false')).toBe('boolean');
  });

  it('holds every value that it was derived from', () => {
    const cells = [
      '1',
      '-0',
      '12.50',
      '1e21',
      '1E-7',
      '9007199254740993',
      '0.1',
      '99999999999999999999.9',
      '-7.25',
    ];
    const type = typeOf('number', ...cells);
    for (const cell of cells)
      expect(encoderOf(type, 'common')(cell), `${cell} in ${type}`).toBeTypeOf('bigint');
  });
});

describe('an encoder', () => {
  it('is exact, or rejects the value', () => {
    expect(encoderOf('long', 'common')('9223372036854775807')).toBe(9223372036854775807n);
    expect(encoderOf('long', 'common')('9223372036854775808')).toBeUndefined();
    expect(encoderOf('decimal(38,10)', 'common')('-1.5')).toBe(-15000000000n);
    expect(encoderOf('decimal(18,2)', 'common')('0.001')).toBeUndefined();
    expect(encoderOf('decimal(4,2)', 'common')('100')).toBeUndefined();
    expect(encoderOf('timestamp', 'common')('1970-01-01T01:00:00.000001+01:00')).toBe(1n);
    expect(encoderOf('timestamp', 'common')('1969-12-31T23:59:59.999999Z')).toBe(-1n);
    expect(encoderOf('timestamp', 'common')('2026-11-21T02:00:00.123Z')).toBe(1795226400123000n);
    expect(encoderOf('timestamp', 'common')('2026-11-21T02:00:0xZ')).toBeUndefined();
    expect(encoderOf('date', 'common')('1970-01-02')).toBe(1);
    expect(encoderOf('date', 'all')('0001-01-01')).toBe(-719162);
    expect(encoderOf('boolean', 'common')('yes')).toBeUndefined();
    expect(encoderOf('double', 'all')('1e400')).toBeUndefined();
    expect(encoderOf('double', 'all')('0.1')).toBe(0.1);
    expect(encoderOf('string', 'common')('')).toEqual(Buffer.alloc(0));
  });

  it('rejects numbers that JSON does not have', () => {
    for (const type of ['long', 'double', 'decimal(18,2)'] as const) {
      for (const text of ['0x1F', '12 ', '007', '-01', '1_0', '+1', '1.', '.5', 'Infinity', ''])
        expect(encoderOf(type, 'all')(text), `${text} in ${type}`).toBeUndefined();
      expect(encoderOf(type, 'all')('-0'), type).toBeDefined();
      expect(encoderOf(type, 'all')('1E+00002'), type).toBeDefined();
    }
  });

  it('accepts the times whose UTC date the type can hold', () => {
    const accepts = (text: string, years: 'common' | 'all') =>
      encoderOf('timestamp', years)(text) !== undefined;
    expect(accepts('9999-12-31T23:59:59.999999Z', 'common')).toBe(true);
    expect(accepts('9999-12-31T23:00:00-02:00', 'common')).toBe(false);
    expect(accepts('0001-01-01T00:00:00Z', 'all')).toBe(true);
    expect(accepts('0001-01-01T00:00:00+01:00', 'all')).toBe(false);
    expect(accepts('0000-12-31T23:30:00-01:00', 'all')).toBe(true);
    expect(accepts('1900-01-01T00:00:00+01:00', 'common')).toBe(false);
    expect(accepts('1899-12-31T23:30:00-01:00', 'common')).toBe(true);
    expect(accepts('1899-12-31T23:59:59Z', 'common')).toBe(false);
  });
});
