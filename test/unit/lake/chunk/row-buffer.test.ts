import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toByteString } from '../../../../src/core/brands.js';
import { RowBuffer, RowWriter } from '../../../../src/lake/chunk/row-buffer.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';
import { rounds } from '../../../support/seeds.js';
import { profileOf } from '../data-plane.js';

interface Row {
  readonly key: string;
  readonly text: string;
  readonly width: number;
}

const latin1 = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
const rows = fc.array(fc.record({ key: latin1, text: latin1.map((text) => `${text}\n`), width: fc.nat(9) }), {
  maxLength: 20,
});

function filled(from: readonly Row[], into = new RowBuffer()): RowBuffer {
  for (const { key, text, width } of from) into.add([key as SortKey], text, [text.length], width);
  return into;
}

function readBack(buffer: RowBuffer): Row[] {
  return Array.from({ length: buffer.rows }, (_, at) => ({
    key: buffer.key(at),
    text: buffer.row(at),
    width: buffer.width(at),
  }));
}

describe('A buffer of rows', () => {
  it('returns its rows one by one and in ranges, over several pages', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 5 }), (pages) => {
        const buffer = new RowBuffer();
        for (const page of pages) buffer.addAll(filled(page));
        const all = pages.flat();
        expect(readBack(buffer)).toEqual(all);
        const pageOf = pages.flatMap((page, at) => page.map(() => at));
        const isSame = pageOf.slice(1).map((page, at) => page === pageOf[at]);
        expect(isSame.map((_, at) => buffer.areOnePage(at, at + 1))).toEqual(isSame);
        expect(buffer.keys()).toEqual(all.map(({ key }) => key));
        expect(buffer.ascending).toBe(all.every(({ key }, at) => at === 0 || all[at - 1]!.key < key));
        const middle = all.length >> 1;
        const text = all.map((row) => row.text);
        expect(buffer.bytes(0, middle).toString('latin1')).toBe(text.slice(0, middle).join(''));
        expect(buffer.bytes(middle, all.length).toString('latin1')).toBe(text.slice(middle).join(''));
        expect(buffer.size).toBe(text.join('').length);
      }),
      { numRuns: rounds(50) },
    );
  });

  it('takes single rows of another buffer', () => {
    fc.assert(
      fc.property(rows, fc.array(fc.nat(19), { maxLength: 10 }), (page, picks) => {
        const [from, into] = [filled(page), new RowBuffer()];
        const picked = picks.filter((at) => at < page.length);
        for (const at of picked) into.addRow(from, at);
        expect(readBack(into)).toEqual(picked.map((at) => page[at]));
        const keys = picked.map((at) => page[at]!.key);
        expect(into.ascending).toBe(keys.every((key, at) => at === 0 || keys[at - 1]! < key));
      }),
      { numRuns: rounds(50) },
    );
  });

  it('grows as rows are added', () => {
    const large = Array.from({ length: 40 }, (_, at) => ({
      key: `k${at}`,
      text: `${String(at).repeat(5000 * (at + 1))}\n`,
      width: 1,
    }));
    expect(readBack(filled(large))).toEqual(large);
    const joined = new RowBuffer();
    joined.addAll(filled(large));
    expect(readBack(joined)).toEqual(large);
  });

  it('is empty after a clear, and accepts new rows', () => {
    const buffer = filled([{ key: 'a', text: 'a,1\n', width: 2 }]);
    buffer.clear();
    expect([buffer.rows, buffer.size, readBack(buffer)]).toEqual([0, 0, []]);
    const other = [{ key: 'b', text: 'b\n', width: 1 }];
    expect(readBack(filled(other, buffer))).toEqual(other);
  });

  it('gives its memory back immediately, and accepts new rows', () => {
    const large = { key: 'k', text: `${'x'.repeat(48 * 1024 * 1024)}\n`, width: 1 };
    const buffer = filled([large]);
    expect(buffer.row(0)).toBe(large.text);
    const held = buffer.bytes(0, 1);
    buffer.release();
    expect([buffer.rows, buffer.size, held.length]).toEqual([0, 0, 0]);
    const other = [{ key: 'b', text: 'b\n', width: 1 }];
    expect(readBack(filled(other, buffer))).toEqual(other);
  });
});

describe('A writer of rows', () => {
  it.each([{}, { columns: { mask: { source: 'hash', id: 'hash' } } }] as const)(
    'writes no row of a record without a key, even if a mask would give it one: %j',
    (more) => {
      const writer = new RowWriter(profileOf({ ...more, key: ['source', 'id'] }), 'meta,');
      const keys = [
        ['a', 'b'],
        ['', 'b'],
        ['a', ''],
        ['', ''],
        ['a', null],
        ['c', 'd'],
      ];
      const records = keys.map((cells) => cells.map((cell) => (cell === null ? null : toByteString(cell))));
      const buffer = new RowBuffer();
      const { keyless } = writer.write(records, ['source', 'id'], buffer);
      expect(keyless.map(({ at }) => at)).toEqual([1, 2, 3, 4]);
      expect(new Set(buffer.keys()).size).toBe(2);
    },
  );
});
