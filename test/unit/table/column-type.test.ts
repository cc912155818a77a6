import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { writeRow } from '../../../src/lake/rows/csv.js';
import {
  type ColumnType,
  joinTypes,
  startType,
  type ValueClass,
  valueClass,
} from '../../../src/table/rules/column-type.js';
import { typeBits } from '../../support/column-types.js';
import { textConverter } from '../../support/table-engine.js';
import { CSV } from '../lake/published.js';

describe('the type of a column', () => {
  const convert = textConverter();

  /** The type of a column with these cells. @param type that it has before */
  async function typeAfter(type: ColumnType, kind: ValueClass, ...cells: string[]): Promise<ColumnType> {
    const text = ['c\n', ...cells.map((cell) => writeRow([cell as ByteString], ','))].join('');
    const column = { alias: 'c', kind, type, fixed: false };
    const csv = { ...CSV, compression: 'none' } as const;
    return (await convert(Buffer.from(text), { csv, columns: [column] })).types[0]!;
  }
  const typeOf = (kind: ValueClass, ...cells: string[]) => typeAfter('empty', kind, ...cells);

  it('is long for integers of 64 bits, decimal(38,0) for larger ones, and text beyond 38 digits', async () => {
    expect(await typeOf('integer', '0', '-9223372036854775808', '9223372036854775807')).toBe('long');
    expect(await typeOf('integer', '1', '9223372036854775808')).toBe('decimal(38,0)');
    expect(await typeOf('integer', '9'.repeat(38))).toBe('decimal(38,0)');
    expect(await typeOf('integer', '1', '9'.repeat(39))).toBe('string');
  });

  it('is the decimal that holds all numbers exactly, or text', async () => {
    expect(await typeOf('number', '12.50', '-0', '7')).toBe('decimal(18,2)');
    expect(await typeOf('number', '12.50', '0.125')).toBe('decimal(18,4)');
    expect(await typeOf('number', '1e21', '0.5')).toBe('decimal(38,2)');
    expect(await typeOf('number', '1E-7')).toBe('decimal(18,9)');
    expect(await typeOf('number', '-123456789012345678901234567890.12345678')).toBe('decimal(38,8)');
    expect(await typeOf('number', '-123456789012345678901234567890.123456789')).toBe('string');
    expect(await typeOf('number', '1e400', '1')).toBe('string');
  });

  it('widens long to a decimal when a fraction appears', () => {
    expect(joinTypes('long', 'decimal(18,2)')).toBe('decimal(38,2)');
    expect(joinTypes('decimal(38,0)', 'decimal(18,2)')).toBe('string');
    expect(joinTypes('decimal(18,2)', 'decimal(18,4)')).toBe('decimal(38,4)');
    expect(joinTypes('empty', 'date')).toBe('date');
  });

  it('is timestamp for RFC 3339 times with a zone, date for dates, and text for a mixture or for parts of a microsecond', async () => {
    expect(await typeOf('string', '2026-11-21T02:00:00Z', '2026-11-21T02:00:00.123456+05:30')).toBe(
      'timestamp',
    );
    expect(await typeOf('string', '2026-11-21', '1999-02-28')).toBe('date');
    expect(await typeOf('string', '2026-11-21', '2026-11-21T02:00:00Z')).toBe('string');
    for (const text of [
      ...['2026-11-21T02:00:00', '2026-11-21T02:00:00.1234567Z', '2026-11-21T24:00:00Z', '2026-02-29'],
      ...['2026-11-21T02:00:60Z', '1899-12-31', '2026-11-21 02:00:00Z', '2026-1-1', '12', 'true', ''],
    ])
      expect(await typeOf('string', text), text).toBe('string');
  });

  it('is text for values of different JSON types, even if they look alike', async () => {
    expect(valueClass(typeBits(['integer', 'string', 'null']))).toBe('text');
    expect(valueClass(typeBits(['object']))).toBe('text');
    expect(startType('long', typeBits(['integer', 'string']))).toBe('string');
    expect(startType('long', typeBits(['integer', 'number']))).toBe('long');
    expect(startType('long', typeBits(['string']))).toBe('string');
    expect(startType('empty', typeBits(['null']))).toBe('empty');
    expect(await typeOf('boolean', 'true', 'false')).toBe('boolean');
  });

  it('is widened by what does not fit, in whatever order it comes', async () => {
    const cells = ['1.5', '0.1234', '0.123456', '-1e20'];
    for (const from of [0, 1, 2, 3]) {
      const inOrder = [...cells.slice(from), ...cells.slice(0, from)];
      expect(await typeAfter('decimal(18,2)', 'number', ...inOrder)).toBe('decimal(38,6)');
    }
    expect(await typeAfter('long', 'number', '7', '7.25')).toBe('decimal(38,2)');
    expect(await typeAfter('long', 'integer', '7', '-9223372036854775809')).toBe('decimal(38,0)');
    expect(await typeAfter('timestamp', 'string', '2026-11-21')).toBe('string');
    expect(await typeAfter('date', 'string', '2026-11-21')).toBe('date');
    expect(await typeAfter('decimal(18,2)', 'number', 'x')).toBe('string');
  });
});
