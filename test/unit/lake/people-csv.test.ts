import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromByteString, toByteString } from '../../../src/core/brands.js';
import { readRow } from '../../../src/lake/rows/csv.js';
import { peopleCsv } from '../../../src/lake/rows/people-csv.js';
import { rowEnd } from './data-plane.js';

describe('CSV for people', () => {
  it('ends rows with LF, leaves null empty, and quotes the empty text and what readers would trim or split', () => {
    const row = [null, '', 'a', ' a', 'a\t', 'a,b', 'a"b', 'a\nb', 'a\rb', 'é', undefined];
    expect(peopleCsv([row])).toBe(',"",a," a","a\t","a,b","a""b","a\nb","a\rb",é,\n');
    expect(peopleCsv([['a,b', 'a;b']], ';')).toBe('a,b;"a;b"\n');
    expect(peopleCsv([])).toBe('');
  });

  it('writes no byte order mark, converts no number, date or truth value, and does not escape formulas', () => {
    const row = ['9007199254740993', '12.50', 'true', '2026-11-21', '=1+1', '-7'];
    expect(peopleCsv([row])).toBe(`${row.join(',')}\n`);
  });

  it('gives every text back, as ordinary text and as one byte per character', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 8 });
    const cell = fc.oneof(text, fc.constantFrom(null, '', '"', '\r', '\n', ',', ' '));
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(rows, (table) => {
        const csv = peopleCsv(table);
        const bytes = peopleCsv(
          table.map((row) => row.map((one) => (one === null ? one : toByteString(one)))),
        );
        expect(fromByteString(bytes)).toBe(csv);
        let at = 0;
        for (const row of table) {
          const end = rowEnd(bytes, at);
          const read = readRow(bytes.slice(at, end), ',');
          expect(read.map((one) => one && fromByteString(one))).toEqual(row);
          at = end;
        }
      }),
    );
  });
});
