import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { PublishedPart } from '../../../src/lake/documents/manifest.js';
import type { SortKey } from '../../../src/lake/rows/row.js';
import { addUp, MergeCounts, type TaskResult, type Totals } from '../../../src/run/merge-result.js';

const part = (rows: number, first: string, last: string): PublishedPart => ({
  key: `p-${first}` as ObjectKey,
  bytes: 1,
  rawBytes: 1,
  rows,
  crc32: '00000000',
  sha256: '',
  lineBreaks: 0,
  first: first as SortKey,
  last: last as SortKey,
});

/** 20 rows before; 12 fetched: one of them was displaced while staging, one while merging, and one set aside. */
const FIRST: TaskResult = {
  task: 0,
  counts: {
    ...new MergeCounts(),
    fetched: 10,
    duplicates: 1,
    unchanged: 3,
    inserted: 4,
    updated: 2,
    deleted: 2,
    dropped: 1,
    retained: 5,
    rows: 15,
  },
  parts: [part(10, 'a', 'c'), part(5, 'd', 'f')],
  changes: [part(8, 'a', 'f')],
};
const SECOND: TaskResult = {
  task: 1,
  counts: { ...new MergeCounts(), retained: 8, rows: 8 },
  parts: [part(8, 'g', 'k')],
  changes: [],
};
const TOTALS: Totals = { fetched: 12, duplicates: 1, unwritten: 1, before: 20, tasks: 2 };

describe('The report of a run', () => {
  it('is added up if the counts agree, with the parts in task order', () => {
    const sum = addUp([SECOND, FIRST], TOTALS);
    if ('problem' in sum) throw new Error(sum.problem);
    expect(sum.counts).toEqual({
      ...new MergeCounts(),
      ...{
        fetched: 11,
        duplicates: 2,
        unchanged: 3,
        inserted: 4,
        updated: 2,
        deleted: 2,
        dropped: 1,
        retained: 13,
        rows: 23,
      },
    });
    expect(sum.parts.map(({ first }) => first)).toEqual(['a', 'd', 'g']);
    expect(sum.changes).toEqual(FIRST.changes);
  });

  it('agrees for an empty run over an empty snapshot', () => {
    const nothing = { fetched: 0, duplicates: 0, unwritten: 0, before: 0, tasks: 0 };
    expect(addUp([], nothing)).toEqual({ counts: new MergeCounts(), parts: [], changes: [] });
  });

  // These say more about some of the rows; nothing else knows their number.
  it.each(
    Object.keys(new MergeCounts()).filter(
      (name) => !['unrestored', 'unlisted', 'missed', 'wentBack', 'notReturned'].includes(name),
    ) as (keyof MergeCounts)[],
  )('is refused when the count of %s is off by one', (name) => {
    for (const off of [1, -1]) {
      const wrong = { ...FIRST, counts: { ...FIRST.counts, [name]: FIRST.counts[name] + off } };
      expect(addUp([wrong, SECOND], TOTALS)).toHaveProperty('problem');
    }
  });

  it.each(Object.keys(TOTALS) as (keyof Totals)[])('is refused when %s is off by one', (name) => {
    for (const off of [1, -1])
      expect(addUp([FIRST, SECOND], { ...TOTALS, [name]: TOTALS[name] + off })).toHaveProperty('problem');
  });

  it('is refused when a part or a piece of the change log has a row more or less', () => {
    for (const rows of [9, 11]) {
      expect(
        addUp([{ ...FIRST, parts: [part(rows, 'a', 'c'), FIRST.parts[1]!] }, SECOND], TOTALS),
      ).toHaveProperty('problem');
    }
    for (const rows of [7, 9])
      expect(addUp([{ ...FIRST, changes: [part(rows, 'a', 'f')] }, SECOND], TOTALS)).toHaveProperty(
        'problem',
      );
  });

  it('is refused when a task is missing or was counted twice', () => {
    expect(addUp([FIRST], TOTALS)).toHaveProperty('problem');
    expect(addUp([FIRST, SECOND, SECOND], TOTALS)).toHaveProperty('problem');
    expect(addUp([FIRST, { ...FIRST, task: 1 }], TOTALS)).toHaveProperty('problem');
  });

  it.each([
    ['share a key', 'f', 'k'],
    ['overlap', 'e', 'k'],
    ['are out of order', '0', '1'],
  ])('is refused when two parts %s', (_, first, last) => {
    const sum = addUp([FIRST, { ...SECOND, parts: [part(8, first, last)] }], TOTALS);
    expect(sum).toEqual({ problem: 'the keys of part 2 overlap those of the part before' });
  });

  it('names the counts that disagree, with both numbers', () => {
    expect(addUp([FIRST, SECOND], { ...TOTALS, before: 19 })).toMatchObject({
      problem: expect.stringContaining('rows before + inserted - dropped and rows after: 22 and 23'),
    });
  });
});
