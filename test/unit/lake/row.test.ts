import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UtcSeconds } from '../../../src/core/brands.js';
import {
  isTombstone,
  payloadAt,
  rowKey,
  rowPrefix,
  sortKey,
  toTombstone,
} from '../../../src/lake/rows/row.js';
import { rounds } from '../../support/seeds.js';
import {
  anyText,
  bytes,
  NEW_RUN,
  NEW_TIME,
  OLD_RUN,
  OLD_TIME,
  type Row,
  readTextRow,
  rowText,
} from './data-plane.js';

const anyRow: fc.Arbitrary<Row> = fc.record({
  runId: fc.constant(OLD_RUN),
  syncedAt: fc.constant(OLD_TIME),
  deletedAt: fc.constantFrom(null, NEW_TIME),
  cells: fc.array(fc.option(anyText), { minLength: 2, maxLength: 4 }),
});
const anyDelimiter = fc.constantFrom(',', ';', '\t', '|');

describe('A row', () => {
  it('shows its payload and whether it is a tombstone without its cells being read', () => {
    fc.assert(
      fc.property(anyRow, anyDelimiter, anyText, (row, delimiter, before) => {
        const text = before + rowText(row, delimiter);
        expect(isTombstone(text, before.length)).toBe(row.deletedAt !== null);
        const prefix = rowPrefix(row.runId, row.syncedAt, row.deletedAt, delimiter);
        expect(text.slice(before.length, payloadAt(text, before.length))).toBe(prefix);
      }),
    );
  });

  it('is not a tombstone because its key begins with a digit', () => {
    expect(
      isTombstone(rowText({ runId: OLD_RUN, syncedAt: OLD_TIME, deletedAt: null, cells: ['42', '7'] })),
    ).toBe(false);
  });

  it('keeps its payload and `_synced_at` when it becomes a tombstone', () => {
    fc.assert(
      fc.property(anyRow, anyDelimiter, (row, delimiter) => {
        const dead = toTombstone(
          rowText(row, delimiter),
          NEW_RUN,
          '2026-12-01T00:00:00Z' as UtcSeconds,
          delimiter,
        );
        expect(readTextRow(dead, delimiter)).toEqual({
          ...row,
          runId: NEW_RUN,
          deletedAt: '2026-12-01T00:00:00Z',
        });
        expect(isTombstone(dead)).toBe(true);
      }),
    );
  });

  it('has the sort key, with one or several key columns, at any position in a text', () => {
    fc.assert(
      fc.property(
        anyRow,
        anyDelimiter,
        fc.integer({ min: 1, max: 2 }),
        anyText,
        (row, delimiter, columns, before) => {
          const text = bytes(before) + rowText(row, delimiter) + rowText(row, delimiter);
          const key = rowKey(text, payloadAt(text, bytes(before).length), columns, delimiter);
          expect(key).toBe(sortKey(row.cells.slice(0, columns).map((cell) => bytes(cell ?? ''))));
        },
      ),
    );
  });
});

describe('A sort key', () => {
  const value = fc.string({ unit: fc.constantFrom('a', '\0', '\u0001', '\u0002', 'b'), maxLength: 4 });
  const values = fc.array(value, { minLength: 2, maxLength: 2 });

  it('differs for different values, even if they contain NULs', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(sortKey(a) === sortKey(b)).toBe(a[0] === b[0] && a[1] === b[1]);
      }),
      { numRuns: rounds(3000) },
    );
  });

  it('sorts like its values compared one by one', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const expected = a[0] === b[0] ? a[1]! < b[1]! : a[0]! < b[0]!;
        expect(sortKey(a) < sortKey(b)).toBe(expected);
      }),
      { numRuns: rounds(3000) },
    );
  });

  it('A sort key of one value is the value itself, so that an index is readable', () => {
    expect(sortKey(['a\0b'])).toBe('a\0b');
  });
});
