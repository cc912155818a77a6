import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../../src/core/brands.js';
import { DifferingColumns } from '../../../../src/run/merge/differing-columns.js';

const row = (text: string): ByteString => `${text}\n` as ByteString;

describe('the columns where rows differ', () => {
  it('are those with another cell in any pair of rows, by their names in the header', () => {
    const differing = new DifferingColumns(['a', 'b', 'c'], ';');
    differing.compare(row('r1;t1;;"x;y";2;'), row('r2;t2;;"x;y";;'));
    differing.compare(row('r1;t1;;z;2;""'), row('r1;t1;;z;2;'));
    expect(differing.names).toEqual(['_run_id', '_synced_at', 'b', 'c']);
  });

  it('are none without a changed row', () => {
    expect(new DifferingColumns(['a'], ',').names).toEqual([]);
  });

  it.each([
    [20, 20],
    [21, undefined],
  ])('are named up to a number: %i', (changed, named) => {
    const differing = new DifferingColumns(
      Array.from({ length: 30 }, (_, at) => `c${at}`),
      ',',
    );
    const rowOf = (of: number, cell: string): ByteString =>
      row(`r,t,,${Array.from({ length: 30 }, (_, at) => (at < of ? cell : 'same')).join(',')}`);
    differing.compare(rowOf(changed, 'a'), rowOf(changed, 'b'));
    expect(differing.names?.length).toBe(named);
  });

  it('are not known if there are too many rows to compare', () => {
    const differing = new DifferingColumns(['a'], ',');
    for (let n = 0; n < 1000; n++) differing.compare(row('r1,t1,,1'), row('r2,t1,,1'));
    expect(differing.names).toEqual(['_run_id']);
    differing.compare(row('r1,t1,,1'), row('r2,t1,,2'));
    expect(differing.names).toBeNull();
  });
});
