import { describe, expect, it } from 'vitest';
import { toByteString } from '../../../src/core/brands.js';
import type { Column } from '../../../src/lake/rows/data-columns.js';
import { inputColumns, unpublishedColumns } from '../../../src/write-back/input-columns.js';
import { typeBits } from '../../support/column-types.js';

const column = (name: string): Column => ({ name, types: typeBits(['string']) }) as Column;
const columnsOf = (header: string[], published: readonly Column[] = []) =>
  inputColumns(header.map(toByteString), 1, { published, fixed: {}, text: [] });

describe('the header of a CSV to write back', () => {
  it('rejects an unknown type, and lists the types', () => {
    expect(() => columnsOf(['id', 'minutes:int'])).toThrow(
      expect.objectContaining({
        message: 'line 1: column 2, "minutes:int", has an unknown type after the colon',
        remedy: expect.stringContaining('The types are string, integer, number, boolean, json.'),
      }),
    );
    expect(() => columnsOf(['minutes:'])).toThrow(/unknown type/);
  });

  it('accepts a colon in the name of a published column', () => {
    expect(columnsOf(['ref:old', 'minutes:integer'], [column('ref:old')])).toMatchObject([
      { name: 'ref:old', from: 'published' },
      { name: 'minutes', type: 'integer', from: 'header' },
    ]);
  });

  it('has unpublished columns only if something is published', () => {
    const columns = columnsOf(['descriptoin', 'billable:boolean']);
    expect(unpublishedColumns(columns, [])).toEqual([]);
    expect(unpublishedColumns(columns, [column('description'), column('billable')])).toEqual(['descriptoin']);
  });
});
