import { describe, expect, it } from 'vitest';
import { toByteString } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { MAX_COLUMNS } from '../../../src/lake/rows/data-columns.js';
import { PageReader } from '../../../src/run/read/page-reader.js';
import { RUN } from './run.js';

const PREFIX = '20261121T020000Z-00000001,1970-01-01T00:00:00Z,,';

const body = (records: readonly object[]) =>
  toByteString(JSON.stringify({ data: records, page: { limit: 10, nextCursor: 'c1' } }));

function rowsOf({ rows }: Awaited<ReturnType<PageReader['read']>>): string[] {
  return Array.from({ length: rows.rows }, (_, at) => rows.row(at).slice(PREFIX.length, -1));
}

describe('A reader of pages', () => {
  it('writes every record of a page, however many are read together', async () => {
    for (const count of [0, 1, 63, 64, 65, 128, 1000]) {
      const reader = new PageReader(RUN, []);
      const page = await reader.read(
        body(Array.from({ length: count }, (_, at) => ({ id: `k${at}`, n: at }))),
      );
      expect(page).toMatchObject({ records: count, keyless: [], firstKeyless: null, nextCursor: 'c1' });
      expect(rowsOf(page)).toEqual(Array.from({ length: count }, (_, at) => `k${at},${at}`));
      expect(page.rows.keys()).toEqual(Array.from({ length: count }, (_, at) => `k${at}`));
    }
  });

  it('reports the first record without a key, and collects all of them', async () => {
    const records = Array.from({ length: 200 }, (_, at) =>
      at === 70 || at === 150 ? { n: at } : { id: `${at}` },
    );
    const page = await new PageReader(RUN, []).read(body(records));
    expect(page).toMatchObject({ records: 200, firstKeyless: 70 });
    expect(page.keyless.map((cells) => cells[1])).toEqual(['70', '150']);
    expect(page.rows.rows).toBe(198);
  });

  it('drops all rows of a truncated page before it reads the next one', async () => {
    const reader = new PageReader(RUN, []);
    const whole = body(Array.from({ length: 100 }, (_, at) => ({ id: `k${at}` })));
    reader.release(await reader.read(body([{ id: 'before' }])));
    await expect(reader.read(whole.slice(0, -200) as typeof whole)).rejects.toThrow(SyntaxError);
    expect(rowsOf(await reader.read(whole))).toEqual(Array.from({ length: 100 }, (_, at) => `k${at}`));
  });

  it('uses the last of two `data` lists in one page', async () => {
    const twice = toByteString('{"data":[{"id":"a"},{}],"data":[{"id":"b"}],"page":{"nextCursor":null}}');
    const page = await new PageReader(RUN, []).read(twice);
    expect(rowsOf(page)).toEqual(['b']);
    expect(page).toMatchObject({ records: 1, keyless: [], firstKeyless: null });
  });

  it('does not change a page while it reads the next one', async () => {
    const reader = new PageReader(RUN, []);
    reader.release(await reader.read(body([{ id: 'a' }])));
    const first = await reader.read(body([{ id: 'b' }]));
    const second = await reader.read(body([{ id: 'c' }]));
    expect([rowsOf(first), rowsOf(second)]).toEqual([['b'], ['c']]);
  });
});

describe('Two fields that become the same flattened column', () => {
  const read = async (record: string, separator = '.') => {
    const csv = { ...RUN.resource.csv, nested: 'flatten', separator } as const;
    const reader = new PageReader({ ...RUN, resource: { ...RUN.resource, csv } }, []);
    const body = toByteString(`{"data":[{"id":"k",${record}},{"id":"l"}],"page":{"nextCursor":null}}`);
    return rowsOf(await reader.read(body))[0];
  };

  it.each([
    ['"a.b":1,"a":{"b":2}', '.'],
    ['"a":{"b":2},"a.b":1', '.'],
    ['"a":{"b":{"c":1},"b.c":"1 "}', '.'],
    ['"user_id":7,"user":{"id":8,"name":"x"}', '_'],
    ['"_run_id":7,"_run":{"id":8}', '_'],
  ])('stop the run if they differ: %s', async (record, separator) => {
    await expect(read(record, separator)).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('two fields of a record both become the column'),
    });
  });

  it.each([
    ['"user_id":7,"user":{"id":7}', '_', 'k,7'],
    ['"user_id":7,"user":{"id":null}', '_', 'k,7'],
    ['"user_id":null,"user":{"id":7}', '_', 'k,7'],
    ['"a":1,"a":2', '.', 'k,2'],
    ['"a":{"b":1},"a":{"b":2}', '.', 'k,2'],
    ['"a":1,"a":null', '.', 'k,'],
  ])('are one value otherwise: %s', async (record, separator, row) => {
    expect(await read(record, separator)).toBe(row);
  });
});

describe('A page with many columns', () => {
  const wide = (columns: number, records: number) => {
    const fields = Array.from({ length: columns - 1 }, (_, at) => `"field ${at}":${at}`).join(',');
    const data = Array.from({ length: records }, (_, at) => `{"id":"k${at}",${fields}}`).join(',');
    return toByteString(`{"data":[${data}],"page":{"nextCursor":null}}`);
  };

  it('does not block the event loop while it is read', async () => {
    const body = wide(MAX_COLUMNS, 400);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const page = await new PageReader(RUN, []).read(body);
    clearInterval(timer);
    expect([page.records, page.rows.width(0)]).toEqual([400, MAX_COLUMNS]);
    expect(turns).toBeGreaterThan(1);
  });

  it('takes time in proportion to its size, not to the square of its columns', async () => {
    const timed = async (body: Parameters<PageReader['read']>[0]): Promise<number> => {
      const reader = new PageReader(RUN, []);
      // CPU time, because other processes may use the machine.
      const before = process.cpuUsage();
      await reader.read(body);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    // The same number of cells.
    const [narrow, broad] = [wide(1000, 100), wide(10_000, 10)];
    const times = { narrow: Number.POSITIVE_INFINITY, broad: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 5; round++) {
      times.narrow = Math.min(times.narrow, await timed(narrow));
      times.broad = Math.min(times.broad, await timed(broad));
    }
    // With a search for each name, it was ten times.
    expect(times.broad / times.narrow).toBeLessThan(5);
  });

  it('is rejected beyond the column limit, with a remedy that names the settings', async () => {
    const tooWide = wide(MAX_COLUMNS + 1, 1);
    await expect(new PageReader(RUN, []).read(tooWide)).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(/^tasks: .* more than 10000 different fields/),
      remedy: expect.stringMatching(/^Name the fields to mirror in `columns.include`.*`columns.exclude`/),
    });
    const flat = {
      ...RUN,
      resource: { ...RUN.resource, csv: { ...RUN.resource.csv, nested: 'flatten' } },
    } as const;
    await expect(new PageReader(flat, []).read(tooWide)).rejects.toMatchObject({
      remedy: expect.stringMatching(/^Set `csv: \{ nested: json \}` for the resource, or name the fields/),
    });
  });

  it('is read if the snapshot already has more columns than the limit', async () => {
    const known = Array.from({ length: MAX_COLUMNS + 5 }, (_, at) => ({
      ...{ name: `field ${at}`, types: 4, values: noFacts() },
    }));
    const page = await new PageReader(RUN, known).read(wide(MAX_COLUMNS + 1, 1));
    expect(page.rows.width(0)).toBe(MAX_COLUMNS + 6);
  });

  it('does not count excluded fields', async () => {
    const columns = { ...RUN.resource.columns, include: ['id', 'field 1'] };
    const run = { ...RUN, resource: { ...RUN.resource, columns } };
    const page = await new PageReader(run, []).read(wide(50_000, 2));
    expect([page.rows.width(0), page.rows.width(1)]).toEqual([2, 2]);
  });
});
