import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockRows } from '../../../../src/lake/part/block-rows.js';
import { rounds } from '../../../support/seeds.js';

function readBack(block: string, windowBytes?: number): string[] {
  const rows = new BlockRows(Buffer.from(block, 'latin1'), undefined, windowBytes);
  const found: string[] = [];
  while (rows.next()) {
    expect(rows.isFirst).toBe(found.length === 0);
    found.push(rows.row);
    expect(rows.text.startsWith(rows.row, rows.start)).toBe(true);
  }
  expect(rows.next()).toBe(false);
  return found;
}

const cell = fc.constantFrom(
  '',
  'a',
  '\xff',
  '"x"',
  '"a\nb"',
  '"\n\n"',
  '"say ""\n"" to them"',
  'longer than the rest',
);
const row = fc.array(cell, { minLength: 1, maxLength: 4 }).map((cells) => `${cells.join(',')}\n`);

describe('The rows of a block', () => {
  it('are the same with windows of any size, and with line breaks in quotes', () => {
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 80 }),
        (rows, bytes) => {
          expect(readBack(rows.join(''), bytes)).toEqual(rows);
          expect(readBack(rows.join(''))).toEqual(rows);
        },
      ),
      { numRuns: rounds(300) },
    );
  });

  it.each([1, 3, 100])(
    'end with the block if the last one has no line feed, in windows of %i bytes',
    (bytes) => {
      expect(readBack('a,1\nb,2', bytes)).toEqual(['a,1\n', 'b,2']);
      expect(readBack('a,1\n"b,2\n', bytes)).toEqual(['a,1\n', '"b,2\n']);
    },
  );
});
