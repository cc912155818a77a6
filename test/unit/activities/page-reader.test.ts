import { describe, expect, it } from 'vitest';
import { PageReader } from '../../../activities/extract/page-reader.js';
import { toByteString } from '../../../src/core/brands.js';
import { runInLittleMemory } from '../../support/little-memory.js';
import { RUN } from './run.js';

const PREFIX = '20261121T020000Z-00000001,1970-01-01T00:00:00Z,,';

const body = (records: readonly object[]) =>
  toByteString(JSON.stringify({ data: records, page: { limit: 10, nextCursor: 'c1' } }));

function rowsOf({ rows }: ReturnType<PageReader['read']>): string[] {
  return Array.from({ length: rows.rows }, (_, at) => rows.row(at).slice(PREFIX.length, -1));
}

describe('A reader of pages', () => {
  it('writes every record of a page, however many are read at once', () => {
    for (const count of [0, 1, 63, 64, 65, 128, 1000]) {
      const reader = new PageReader(RUN, []);
      const page = reader.read(body(Array.from({ length: count }, (_, at) => ({ id: `k${at}`, n: at }))));
      expect(page).toMatchObject({ records: count, keyless: [], firstKeyless: null, nextCursor: 'c1' });
      expect(rowsOf(page)).toEqual(Array.from({ length: count }, (_, at) => `k${at},${at}`));
      expect(page.rows.keys).toEqual(Array.from({ length: count }, (_, at) => `k${at}`));
    }
  });

  it('says which record is the first without its key, and sets all of them aside', () => {
    const records = Array.from({ length: 200 }, (_, at) =>
      at === 70 || at === 150 ? { n: at } : { id: `${at}` },
    );
    const page = new PageReader(RUN, []).read(body(records));
    expect(page).toMatchObject({ records: 200, firstKeyless: 70 });
    expect(page.keyless.map((cells) => cells[1])).toEqual(['70', '150']);
    expect(page.rows.rows).toBe(198);
  });

  it('has nothing of a torn page in the one that is read in its place', () => {
    const reader = new PageReader(RUN, []);
    const whole = body(Array.from({ length: 100 }, (_, at) => ({ id: `k${at}` })));
    reader.release(reader.read(body([{ id: 'before' }])));
    expect(() => reader.read(whole.slice(0, -200) as typeof whole)).toThrow(SyntaxError);
    expect(rowsOf(reader.read(whole))).toEqual(Array.from({ length: 100 }, (_, at) => `k${at}`));
  });

  it('takes the last of two lists in one page', () => {
    const twice = toByteString('{"data":[{"id":"a"},{}],"data":[{"id":"b"}],"page":{"nextCursor":null}}');
    const page = new PageReader(RUN, []).read(twice);
    expect(rowsOf(page)).toEqual(['b']);
    expect(page).toMatchObject({ records: 1, keyless: [], firstKeyless: null });
  });

  it('keeps a page as it is while the next one is read', () => {
    const reader = new PageReader(RUN, []);
    reader.release(reader.read(body([{ id: 'a' }])));
    const first = reader.read(body([{ id: 'b' }]));
    const second = reader.read(body([{ id: 'c' }]));
    expect([rowsOf(first), rowsOf(second)]).toEqual([['b'], ['c']]);
  });

  it('holds on to no body whose rows it has', async () => {
    const modules = [
      '../../../dist/activities/extract/page-reader.js',
      '../../../dist/src/lake/chunk/row-buffer.js',
    ];
    const script = `
      const [{ PageReader }, { RowBuffer }] = await Promise.all(
        ${JSON.stringify(modules.map((path) => new URL(path, import.meta.url).href))}.map((url) => import(url)),
      );
      const reader = new PageReader(${JSON.stringify(RUN)}, []);
      const all = new RowBuffer();
      for (let at = 0; at < 1000; at++) {
        const data = [{ id: 'a key of more than a few letters ' + at, left: 1 }];
        const page = reader.read(JSON.stringify({ data, page: { nextCursor: null }, more: 'x'.repeat(100_000) }));
        all.addAll(page.rows);
        reader.release(page);
      }
      if (all.keys.length !== 1000) throw new Error('rows are missing');
    `;
    expect(await runInLittleMemory(script)).toBe(0);
  });
});
