import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { type Cell, MAX_ROW_BYTES, writeRow } from '../../../src/lake/rows/csv.js';
import { convertText, countUnfit } from '../../../src/table/parquet/convert-text.js';
import type { ColumnType, ValueClass } from '../../../src/table/rules/column-type.js';
import { readParquet } from '../../support/read-parquet.js';
import { textConverter } from '../../support/table-engine.js';
import { CSV } from '../lake/published.js';

/** Makes rows long, so that the text has a few megabytes. */
const PADDING = '.'.repeat(300);
const CSV_TEXT = { ...CSV, compression: 'none' } as const;

/** A column: its JSON type, its expected type, and the cell and the stored value of each row. */
interface Expected {
  readonly kind: ValueClass;
  readonly type: ColumnType;
  readonly cell: (row: number) => string | null;
  readonly value: (row: number) => unknown;
}

const COLUMNS: Record<string, Expected> = {
  nothing: { kind: 'text', type: 'empty', cell: () => null, value: () => undefined },
  unique: {
    ...{ kind: 'string', type: 'string' },
    cell: (row) => `"${row},\nä"${PADDING}`,
    value: (row) => `"${row},\nä"${PADDING}`,
  },
  repeated: {
    ...{ kind: 'string', type: 'string' },
    cell: (row) => (row % 7 === 0 ? null : ['', 'open', 'closed '][row % 3]!),
    value: (row) => (row % 7 === 0 ? undefined : ['', 'open', 'closed '][row % 3]),
  },
  // Values are repeated at first, and then are not.
  uniqueLater: {
    ...{ kind: 'string', type: 'string' },
    cell: (row) => (row < 3000 ? 'same' : `other ${row}`),
    value: (row) => (row < 3000 ? 'same' : `other ${row}`),
  },
  // After the rows that decide the types.
  lateNumber: {
    ...{ kind: 'number', type: 'decimal(18,4)' },
    cell: (row) => (row < 10_000 ? null : row % 2 === 0 ? `${row}.5` : `-${row}.1250`),
    value: (row) =>
      row < 10_000
        ? undefined
        : row % 2 === 0
          ? BigInt(row) * 10_000n + 5000n
          : -(BigInt(row) * 10_000n + 1250n),
  },
  lateText: {
    ...{ kind: 'string', type: 'string' },
    cell: (row) => (row === 15_000 ? 'unknown' : '2026-11-21'),
    value: (row) => (row === 15_000 ? 'unknown' : '2026-11-21'),
  },
  flag: {
    ...{ kind: 'boolean', type: 'boolean' },
    cell: (row) => (row % 5 === 0 ? null : String(row % 3 === 0)),
    value: (row) => (row % 5 === 0 ? undefined : row % 3 === 0),
  },
  count: { kind: 'integer', type: 'long', cell: (row) => String(row * 7), value: (row) => BigInt(row * 7) },
  at: {
    ...{ kind: 'string', type: 'timestamp' },
    cell: (row) => new Date(1.7e12 + row * 61_001).toISOString(),
    value: (row) => BigInt(1.7e12 + row * 61_001) * 1000n,
  },
  day: {
    ...{ kind: 'string', type: 'date' },
    cell: (row) => new Date((row % 20_000) * 86_400_000).toISOString().slice(0, 10),
    value: (row) => row % 20_000,
  },
};
const names = Object.keys(COLUMNS);

function textOf(rows: number, change: (cells: Cell[], row: number) => void = () => {}): Buffer {
  const lines = [`${names.join(',')}\n`];
  for (let row = 0; row < rows; row++) {
    const cells = names.map((name) => {
      const cell = COLUMNS[name]!.cell(row);
      return cell === null ? null : (Buffer.from(cell).toString('latin1') as ByteString);
    });
    change(cells, row);
    lines.push(writeRow(cells, ','));
  }
  return Buffer.from(lines.join(''), 'latin1');
}

// Reading 25,000 rows back takes seconds on busy cores.
describe('a part as a Parquet file', () => {
  const convertTo = textConverter();
  const convert = (
    text: Buffer,
    types: Partial<Record<string, ColumnType>> = {},
    fixed: readonly string[] = [],
  ) =>
    convertTo(text, {
      csv: CSV_TEXT,
      columns: names.map((name) => ({
        ...{ alias: name, kind: COLUMNS[name]!.kind, type: types[name] ?? 'empty' },
        fixed: fixed.includes(name),
      })),
    });
  // More than one row group holds.
  const ROWS = 25_000;

  it('has every value, in several row groups', async () => {
    const { types, rows, file } = await convert(textOf(ROWS));
    expect(rows).toBe(ROWS);
    expect(Object.fromEntries(names.map((name, at) => [name, types[at]]))).toEqual(
      Object.fromEntries(names.map((name) => [name, COLUMNS[name]!.type])),
    );
    const read = await readParquet(file);
    expect(read.metadata.row_groups.length).toBeGreaterThan(1);
    expect(read.rows.length).toBe(ROWS);
    for (const [row, found] of read.rows.entries())
      for (const name of names)
        if ((found[name] ?? undefined) !== COLUMNS[name]!.value(row))
          expect(found[name], `${name} of row ${row}`).toEqual(COLUMNS[name]!.value(row));
  });

  it('has wider types if a later value needs them', async () => {
    const [count, nothing] = [names.indexOf('count'), names.indexOf('nothing')];
    const text = textOf(ROWS, (cells, row) => {
      if (row === ROWS - 2) cells[count] = '9223372036854775808' as ByteString;
      if (row === ROWS - 1) cells[nothing] = 'x' as ByteString;
    });
    const { types, rows, file } = await convert(text, { count: 'long' });
    expect(rows).toBe(ROWS);
    expect([types[count], types[nothing]]).toEqual(['decimal(38,0)', 'string']);
    const last = (await readParquet(file)).rows.slice(-2);
    expect(last.map((row) => row.count)).toEqual([9223372036854775808n, BigInt((ROWS - 1) * 7)]);
    expect(last.map((row) => row.nothing ?? null)).toEqual([null, 'x']);
  });

  it('counts the values that do not fit a type of the configuration, and they are null', async () => {
    const { unfit, file } = await convert(textOf(50), { unique: 'long' }, ['unique']);
    expect(unfit[names.indexOf('unique')]).toBe(50);
    const { rows } = await readParquet(file);
    expect(rows.every(({ unique }) => unique === null || unique === undefined)).toBe(true);
  });

  it('has cells of any length', async () => {
    for (const length of [900_000, 8_000_000]) {
      const cell = 'ab"\n'.repeat(length / 4);
      const text = textOf(1, (cells) => {
        cells[1] = cell as ByteString;
      });
      const { rows } = await readParquet((await convert(text)).file);
      expect(rows.map(({ unique }) => unique === cell)).toEqual([true]);
    }
  });

  it('has the cells of a part with another delimiter, and the compression that is set', async () => {
    const text = Buffer.from('a;b\n1;"x;\ny,"\n;z\n');
    for (const codec of ['snappy', 'gzip', 'zstd'] as const) {
      const columns = ['a', 'b'].map(
        (alias) => ({ alias, kind: 'text', type: 'empty', fixed: false }) as const,
      );
      const { file } = await convertTo(text, { csv: { ...CSV_TEXT, delimiter: ';' }, columns }, codec);
      const { rows, metadata } = await readParquet(file);
      expect(rows.map(({ a, b }) => [a ?? null, b ?? null])).toEqual([
        ['1', 'x;\ny,'],
        [null, 'z'],
      ]);
      expect(metadata.row_groups[0]!.columns[0]!.meta_data!.codec).toBe(codec.toUpperCase());
    }
  });

  it('has every value of many columns, whatever decides their types', async () => {
    const COPIES = 20;
    const layout = (types: Partial<Record<string, ColumnType>>, fixed: readonly string[] = []) => ({
      csv: CSV_TEXT,
      columns: Array.from({ length: COPIES }, (_, copy) =>
        names.map((name) => ({
          ...{ alias: `${name} ${copy}`, kind: COLUMNS[name]!.kind, type: types[name] ?? 'empty' },
          fixed: fixed.includes(name),
        })),
      ).flat(),
    });
    const lines = textOf(400, (cells, row) => {
      cells[1] = (row === 7 ? 'x' : `${row}`) as ByteString;
    }).toString('latin1');
    const wide = lines.split('\n').map((line) => (line === '' ? '' : new Array(COPIES).fill(line).join(',')));
    const text = Buffer.from(wide.join('\n'), 'latin1');
    const known = {
      flag: 'boolean',
      count: 'long',
      at: 'timestamp',
      day: 'date',
      repeated: 'string',
    } as const;
    const sets: Partial<Record<string, ColumnType>>[] = [{}, known, { ...known, count: 'date' }];
    for (const types of sets) {
      const { rows, file } = await convertTo(text, layout(types));
      expect(rows).toBe(400);
      const read = (await readParquet(file)).rows;
      for (const name of ['flag', 'count', 'at', 'day', 'repeated'])
        for (const copy of [0, 7, COPIES - 1])
          expect(
            read.map((row) => row[`${name} ${copy}`] ?? undefined),
            name,
          ).toEqual(
            read.map((_, row) =>
              name === 'count' && types.count === 'date' ? `${row * 7}` : COLUMNS[name]!.value(row),
            ),
          );
    }
    const { unfit } = await convertTo(text, layout({ ...known, unique: 'long' }, ['unique', 'count']));
    expect(unfit).toEqual(
      Array.from({ length: COPIES }, () => names.map((name) => (name === 'unique' ? 1 : 0))).flat(),
    );
  });

  it('is read with no more memory than the longest row that a part can have needs', async () => {
    const asked: string[] = [];
    const connection = {
      limitMemory: async () => {},
      texts: async (sql: string) => {
        asked.push(/max_line_size = (\d+)/.exec(sql)![1]!);
        throw new Error('Invalid Input Error: CSV Error on Line: 2');
      },
    } as unknown as Parameters<typeof countUnfit>[0];
    const columns = [{ alias: 'a', kind: 'string', type: 'long', fixed: true } as const];
    const part = { path: 'part', rawBytes: 4 * 2 ** 30, rows: 2, csv: CSV_TEXT, columns };
    await expect(countUnfit(connection, part)).rejects.toThrow('CSV Error');
    expect(asked.map(Number)).toEqual([2 ** 20, 2 ** 23, 2 ** 26, MAX_ROW_BYTES + 1024]);
  });

  it.each([
    ['before it is written if no values have decided a type yet', 'empty', 2],
    ['only to be written if they have', 'long', 1],
  ] as const)('is read %s', async (_, type, queries) => {
    const asked: string[] = [];
    const connection = {
      limitMemory: async () => {},
      async run(sql: string) {
        if (sql.startsWith('COPY')) asked.push(sql);
        return 2;
      },
      async texts(sql: string) {
        asked.push(sql);
        return [['[10100]', '[]']];
      },
    } as unknown as Parameters<typeof convertText>[0];
    const columns = [
      { alias: '_synced_at', kind: 'text', type: 'timestamp', fixed: false },
      { alias: 'count', kind: 'integer', type, fixed: false },
      { alias: 'nothing', kind: 'string', type: 'empty', fixed: false },
    ] as const;
    const part = { path: 'part', rawBytes: 10, rows: 2, csv: CSV_TEXT, columns };
    const { types } = await convertText(connection, part, { to: 'file', codec: 'zstd' });
    expect(types).toEqual(['timestamp', 'long', 'empty']);
    expect(asked.length).toBe(queries);
  });

  it('is rejected if a row has another number of cells', async () => {
    const text = textOf(3);
    await expect(convert(Buffer.concat([text, Buffer.from('a,b\n')]))).rejects.toThrow('CSV Error');
    await expect(
      convert(Buffer.concat([text, Buffer.from(`${'x,'.repeat(names.length)}x\n`)])),
    ).rejects.toThrow('CSV Error');
  });
});
