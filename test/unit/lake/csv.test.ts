import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { type Cell, cellEnd, readCell, readRow, writeRows } from '../../../src/lake/rows/csv.js';
import { anyCell, bytes, rowEnd } from './data-plane.js';

const DELIMITERS = [',', ';', '\t', '|'] as const;
const anyTable = fc
  .integer({ min: 2, max: 5 })
  .chain((width) =>
    fc.array(fc.array(anyCell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 6 }),
  );

describe('CSV', () => {
  it.each(DELIMITERS)(
    'round-trips every cell, and distinguishes null from the empty string, with the delimiter %j',
    (delimiter) => {
      fc.assert(
        fc.property(anyTable, (table) => {
          const text = writeRows(table, delimiter);
          const rows: (ByteString | null)[][] = [];
          let at = 0;
          while (at < text.length) {
            const end = rowEnd(text, at);
            expect(text[end - 1]).toBe('\n');
            rows.push(readRow(text.slice(at, end), delimiter));
            at = end;
          }
          expect(at).toBe(text.length);
          expect(rows).toEqual(table);
        }),
      );
    },
  );

  it('is the same text whether rows are written together or one by one', () => {
    fc.assert(
      fc.property(anyTable, (table) => {
        expect(writeRows(table, ',')).toBe(table.map((row) => writeRows([row], ',')).join(''));
      }),
    );
  });

  it('is the text that csv-stringify writes for whole rows', () => {
    const options = { record_delimiter: '\n', quoted_match: ['\r', /^$/, /^[\0- ]/, /[\0- ]$/] };
    fc.assert(
      fc.property(anyTable, fc.constantFrom(...DELIMITERS, ']', '^', '-', '\\', 'a'), (table, delimiter) => {
        expect(writeRows(table, delimiter)).toBe(stringify(table, { ...options, delimiter }));
      }),
    );
  });

  it('has a delimiter or line end where cellEnd finds the end of each cell', () => {
    fc.assert(
      fc.property(anyTable, fc.constantFrom(...DELIMITERS), ([row], delimiter) => {
        const text = `before${writeRows([row!], delimiter)}behind`;
        let at = 'before'.length;
        for (const [column, cell] of row!.entries()) {
          const end = cellEnd(text, at, delimiter);
          expect(readCell(text.slice(at, end))).toBe(cell);
          expect(text[end]).toBe(column === row!.length - 1 ? '\n' : delimiter);
          at = end + 1;
        }
        expect(text.slice(at)).toBe('behind');
      }),
    );
  });

  it('follows RFC 4180 with LF, and quotes only where necessary', () => {
    const row: Cell[] = [
      null,
      '',
      'a',
      'a b',
      ' a',
      'a ',
      'a\t',
      ' ',
      'à',
      'a,b',
      'a"b',
      'a\nb',
      'a\rb',
      'a\r\nb',
      "'",
      'é',
      undefined,
    ].map((cell) => (cell === null || cell === undefined ? cell : bytes(cell)));
    const text = ',"",a,a b," a","a ","a\t"," ",à,"a,b","a""b","a\nb","a\rb","a\r\nb",\',é,\n';
    expect(writeRows([row], ',')).toBe(bytes(text));
  });

  it('writes a missing element of a sparse row as an empty field', () => {
    const row: Cell[] = new Array(4);
    row[2] = bytes('x');
    expect(writeRows([row], ';')).toBe(';;x;\n');
    expect(readRow(';;x;\n', ';')).toEqual([null, null, 'x', null]);
  });

  it('writes nothing if there are no rows', () => {
    expect(writeRows([], ',')).toBe('');
  });

  it('quotes a cell that contains the delimiter in use, but not one that contains another delimiter', () => {
    for (const delimiter of DELIMITERS) {
      const cells = DELIMITERS.map((other) => bytes(`a${other}b`));
      const expected = DELIMITERS.map((other) => (other === delimiter ? `"a${other}b"` : `a${other}b`)).join(
        delimiter,
      );
      expect(writeRows([cells], delimiter)).toBe(`${expected}\n`);
    }
  });

  it('ends a row that is cut off, or lacks its last LF, at the end of the text', () => {
    expect(rowEnd('a,b', 0)).toBe(3);
    expect(rowEnd('a,"b\n', 0)).toBe(5);
    expect(rowEnd('a,"b\n"', 0)).toBe(6);
    expect(cellEnd('"a""', 0, ',')).toBe(4);
    expect(readRow('a,"b"', ',')).toEqual(['a', 'b']);
  });
});
