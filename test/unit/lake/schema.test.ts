import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Format, noFacts, noteString, typeNames } from '../../../src/core/value-facts.js';
import {
  ColumnSet,
  columnName,
  headerCells,
  headerNames,
  headerRow,
  withText,
} from '../../../src/lake/rows/data-columns.js';
import { isWanted } from '../../../src/lake/rows/profile.js';
import { typeBits } from '../../support/column-types.js';
import { bytes, profileOf } from './data-plane.js';

describe('A column set', () => {
  it('has the key first, then the columns of earlier runs, then new fields in the order that they appear', () => {
    const set = new ColumnSet(
      ['source', 'sourceKey'],
      [
        { name: 'a', types: 4, values: noFacts() },
        { name: 'sourceKey', types: 16, values: noFacts() },
      ],
    );
    const at = ['z', 'a', 'source', 'b', 'z'].map((field) => set.columnOf(bytes(field)));
    expect(set.names).toEqual(['source', 'sourceKey', 'a', 'z', 'b']);
    expect(at).toEqual([3, 2, 0, 4, 3]);
    expect(set.toColumns()[1]).toEqual({ name: 'sourceKey', types: 16, values: noFacts() });
  });

  it('grows only at its end, over any number of runs', () => {
    const field = fc.constantFrom('id', 'a', 'b', '__proto__', 'constructor', '', 'ü', '_run_id', 'A');
    fc.assert(
      fc.property(fc.array(fc.array(field, { maxLength: 8 }), { maxLength: 5 }), (runs) => {
        let columns = new ColumnSet(['id'], []).toColumns();
        for (const fields of runs) {
          const set = new ColumnSet(['id'], columns);
          for (const name of fields) expect(set.names[set.columnOf(bytes(name))]).toBe(columnName(name));
          const next = set.toColumns();
          expect(next.slice(0, columns.length)).toEqual(columns);
          expect(new Set(next.map(({ name }) => name)).size).toBe(next.length);
          columns = next;
        }
      }),
    );
  });

  it('adds a suffix to fields with the name of a metadata column', () => {
    const set = new ColumnSet(['id'], []);
    for (const field of ['_run_id', '_synced_at', '_deleted_at', '_other']) set.columnOf(bytes(field));
    expect(headerCells(set.toColumns())).toEqual([
      ...['_run_id', '_synced_at', '_deleted_at', 'id'],
      ...['_run_id__field', '_synced_at__field', '_deleted_at__field', '_other'],
    ]);
  });

  it('leaves out excluded columns, but never the key', () => {
    const profile = profileOf({ columns: { include: ['a'], exclude: ['id'] } });
    const set = new ColumnSet(['id'], [], isWanted(profile));
    expect(['id', 'a', 'b'].map((field) => set.columnOf(bytes(field)))).toEqual([0, 1, -1]);
    expect(set.size).toBe(2);
  });

  it('keeps the types of earlier runs', () => {
    const set = new ColumnSet(
      ['id'],
      [
        { name: 'id', types: 16, values: noFacts() },
        { name: 'a', types: 1, values: noFacts() },
      ],
    );
    set.types[set.columnOf(bytes('a'))]! |= 4;
    expect(set.toColumns()).toMatchObject([
      { name: 'id', types: 16, values: noFacts() },
      { name: 'a', types: 5, values: noFacts() },
    ]);
  });

  it('adds facts to those of earlier runs', () => {
    const values = { formats: Format.date, whole: 2, fraction: 1 };
    const set = new ColumnSet(
      ['id'],
      [
        { name: 'a', types: 16, values },
        { name: 'onlyNulls', types: 1, values: noFacts() },
      ],
    );
    noteString(set.facts[set.columnOf(bytes('a'))]!, '2026-11-21T02:00:00Z');
    const none = { formats: 0, whole: 0, fraction: 0 };
    expect(set.toColumns()).toEqual([
      { name: 'id', types: 0, values: none },
      { name: 'a', types: 16, values: { ...values, formats: Format.date | Format.millis } },
      { name: 'onlyNulls', types: 1, values: none },
    ]);
    expect(new ColumnSet(['id'], set.toColumns()).toColumns()).toEqual(set.toColumns());
  });

  it('notes that masked columns hold text, for as long as the resource is mirrored', () => {
    const columns = new ColumnSet(
      ['id'],
      [{ name: 'a', types: 4, values: { formats: 0, whole: 3, fraction: 0 } }],
    );
    const noted = withText(columns.toColumns(), ['a']);
    const later = new ColumnSet(['id'], noted).toColumns();
    expect(later.map(({ values }) => values?.formats)).toEqual([0, Format.text]);
  });

  it('writes types as names and reads them back', () => {
    for (let bits = 0; bits < 128; bits++) expect(typeBits(typeNames(bits))).toBe(bits);
    expect(typeNames(1 | 16)).toEqual(['null', 'string']);
  });

  it('has a header without line breaks if these are escaped', () => {
    const columns = [{ name: 'a\nb', types: 0, values: noFacts() }];
    const header = (lineBreaks: 'keep' | 'escape') => headerRow(columns, { delimiter: ',', lineBreaks });
    expect(header('keep')).toBe('_run_id,_synced_at,_deleted_at,"a\nb"\n');
    expect(header('escape')).toBe('_run_id,_synced_at,_deleted_at,a\\nb\n');
    expect(headerNames(columns, { delimiter: ',', lineBreaks: 'escape' }).at(-1)).toBe('a\\nb');
  });

  it('has a header with any name as UTF-8', () => {
    expect(headerCells([{ name: '日' }])[3]).toBe('\xe6\x97\xa5');
  });
});
