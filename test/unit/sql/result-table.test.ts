import { expect, it } from 'vitest';
import { resultTable } from '../../../src/cli/shared/result-table.js';

const columns = (...names: string[]) => names.map((name) => ({ name, type: 'VARCHAR' }));

it('aligns numbers to the right, and shows NULL and line breaks in one line', () => {
  const typed = [...columns('title'), { name: 'n', type: 'BIGINT' }];
  const { lines } = resultTable(
    typed,
    [
      ['a\nb', '7'],
      [null, '1234'],
    ],
    80,
  );
  expect(lines).toEqual(['title     n', 'a b       7', 'NULL   1234']);
});

it.each([40, 80, 120])('never exceeds %i characters, and counts the columns that do not fit', (width) => {
  for (const many of [1, 3, 8, 30]) {
    const names = Array.from({ length: many }, (_, at) => `column${at}`);
    const rows = [names.map((_, at) => 'x'.repeat(at * 17))];
    const { lines, hidden } = resultTable(columns(...names), rows, width);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines[0]!.trim().split(/ +/).length + hidden).toBe(many);
  }
});

it('leaves out the columns of the mirror first, and keeps their place in a table that fits', () => {
  const names = ['_run_id', '_synced_at', 'title', 'done', 'status'];
  const rows = [names.map((name) => name.repeat(4))];
  const narrow = resultTable(columns(...names), rows, 42);
  expect(narrow.lines[0]!.split(/ +/)).toEqual(['title', 'done', 'status']);
  expect(narrow.hidden).toBe(2);
  expect(resultTable(columns(...names), rows, 200).lines[0]!.split(/ +/)).toEqual(names);
});

it('keeps a table whole that has no width', () => {
  const { lines, hidden } = resultTable(columns('a'), [['x'.repeat(500)]], Number.POSITIVE_INFINITY);
  expect([lines[1]!.length, hidden]).toEqual([500, 0]);
});
