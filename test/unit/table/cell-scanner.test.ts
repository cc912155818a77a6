import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { readCell, writeRows } from '../../../src/lake/rows/csv.js';
import { CellScanner } from '../../../src/table/parquet/cell-scanner.js';

const WIDTH = 3;
const cell = fc.option(
  fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'ü', '""'), maxLength: 8 }),
  { nil: null },
);
const table = fc.array(fc.array(cell, { minLength: WIDTH, maxLength: WIDTH }), { maxLength: 8 });

/** All cells that a scanner finds in a text that arrives in pieces of these lengths, which repeat. */
function scan(text: Buffer, lengths: readonly number[], width = WIDTH): (string | null)[][] {
  const scanner = new CellScanner(',', width);
  const rows: (string | null)[][] = [];
  const onRow = (bytes: Buffer, start: number, end: number) => {
    expect(bytes[end - 1]).toBe(0x0a);
    expect(scanner.bounds[0]).toBe(start);
    rows.push(
      Array.from({ length: Math.min(width, scanner.cells) }, (_, at) =>
        readCell(bytes.toString('latin1', scanner.bounds[2 * at], scanner.bounds[2 * at + 1])),
      ),
    );
  };
  for (let at = 0, next = 0; at < text.length; next++) {
    const length = lengths[next % lengths.length]!;
    scanner.push(text.subarray(at, at + length), onRow);
    at += length;
  }
  expect(scanner.end(onRow)).toBe(0);
  return rows;
}

describe('the cells of CSV rows', () => {
  it('are those that were written, however the bytes are divided', () => {
    fc.assert(
      fc.property(table, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (rows, lengths) => {
        const asBytes = rows.map((row) =>
          row.map((value) => value && (Buffer.from(value).toString('latin1') as ByteString)),
        ) as (ByteString | null)[][];
        const text = Buffer.from(writeRows(asBytes, ','), 'latin1');
        expect(scan(text, lengths)).toEqual(asBytes);
      }),
      { numRuns: 2000 },
    );
  });

  it('are counted even if there are more than expected', () => {
    const scanner = new CellScanner(',', 2);
    const counts: number[] = [];
    scanner.push(Buffer.from('a\na,b,c,d\n,\n'), () => counts.push(scanner.cells));
    expect(counts).toEqual([1, 4, 2]);
  });

  it('of an incomplete last row are reported by their number of bytes', () => {
    for (const rest of ['a,b', '"a,\n', 'a,""']) {
      const scanner = new CellScanner(',', 2);
      let rows = 0;
      scanner.push(Buffer.from(`1,2\n${rest}`), () => rows++);
      expect(scanner.end(() => rows++)).toBe(rest.length);
      expect(rows).toBe(1);
    }
  });

  it('are not held without a limit if a quote is not closed', () => {
    const scanner = new CellScanner(',', 2, 1000);
    expect(() => {
      for (let at = 0; at < 100; at++) scanner.push(Buffer.from('"0123456789'), () => {});
    }).toThrow('a row is longer than 1000 bytes');
  });
});
