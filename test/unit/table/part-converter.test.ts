import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { type Cell, writeRow } from '../../../src/lake/rows/csv.js';
import { parquetLibrary } from '../../../src/table/parquet/library.js';
import { PartConverter } from '../../../src/table/parquet/part-converter.js';
import type { ColumnType, ValueClass } from '../../../src/table/rules/column-type.js';
import { CSV } from '../lake/published.js';

const library = await parquetLibrary();
/** Makes rows long, so that few of them fill a row group. */
const PADDING = '.'.repeat(300);

/** A column: its JSON type, its expected type, and the cell and the value of each row. */
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
    value: (row) => (row % 7 === 0 ? null : ['', 'open', 'closed '][row % 3]),
  },
  // Values are repeated at first, and then are not.
  uniqueLater: {
    ...{ kind: 'string', type: 'string' },
    cell: (row) => (row < 3000 ? 'same' : `other ${row}`),
    value: (row) => (row < 3000 ? 'same' : `other ${row}`),
  },
  lateNumber: {
    ...{ kind: 'number', type: 'decimal(18,4)' },
    cell: (row) => (row < 10 ? null : row % 2 === 0 ? `${row}.5` : `-${row}.1250`),
    value: (row) => (row < 10 ? null : row % 2 === 0 ? row + 0.5 : -row - 0.125),
  },
  flag: {
    ...{ kind: 'boolean', type: 'boolean' },
    cell: (row) => (row % 5 === 0 ? null : String(row % 3 === 0)),
    value: (row) => (row % 5 === 0 ? null : row % 3 === 0),
  },
  count: { kind: 'integer', type: 'long', cell: (row) => String(row * 7), value: (row) => BigInt(row * 7) },
  at: {
    ...{ kind: 'string', type: 'timestamp' },
    cell: (row) => new Date(1.7e12 + row * 61_001).toISOString(),
    value: (row) => new Date(1.7e12 + row * 61_001),
  },
  day: {
    ...{ kind: 'string', type: 'date' },
    cell: (row) => new Date((row % 20_000) * 86_400_000).toISOString().slice(0, 10),
    value: (row) => new Date((row % 20_000) * 86_400_000),
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

function convert(
  text: Buffer,
  types: Partial<Record<string, ColumnType>> = {},
  fixed: readonly string[] = [],
) {
  const chunks: Uint8Array[] = [];
  const columns = names.map((name) => ({
    ...{ alias: name, kind: COLUMNS[name]!.kind, type: types[name] ?? 'empty' },
    fixed: fixed.includes(name),
  }));
  const converter = new PartConverter(
    library,
    { columns, csv: CSV },
    { onTypes: () => {}, onBytes: (bytes) => chunks.push(bytes) },
  );
  for (let at = 0; at < text.length; at += 50_000) converter.push(text.subarray(at, at + 50_000));
  return { ...converter.end(), file: Buffer.concat(chunks) };
}

async function readBack(file: Buffer) {
  const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer;
  const metadata = library.reader.parquetMetadata(buffer);
  const rows = await library.reader.parquetReadObjects({
    file: buffer,
    compressors: { GZIP: (input) => new Uint8Array(gunzipSync(input)) },
  });
  // This reader multiplies decimals by a power of ten.
  for (const row of rows)
    for (const [name, value] of Object.entries(row))
      if (typeof value === 'number') row[name] = Number(value.toFixed(4));
  return { metadata, rows };
}

// Reading 20,000 rows back takes seconds on busy cores.
describe('a part as a Parquet file', { timeout: 60_000 }, () => {
  // Several row groups of 4 MiB.
  const ROWS = 20_000;

  it('has every value, in several row groups, with dictionaries where values repeat', async () => {
    const { outcome, types, rows, file } = convert(textOf(ROWS));
    expect({ outcome, rows }).toEqual({ outcome: 'written', rows: ROWS });
    expect(types).toEqual(names.map((name) => COLUMNS[name]!.type));
    const read = await readBack(file);
    expect(read.metadata.row_groups.length).toBeGreaterThan(1);
    expect(read.rows.length).toBe(ROWS);
    for (const [row, found] of read.rows.entries())
      for (const name of names)
        if (found[name] !== COLUMNS[name]!.value(row))
          expect(found[name], `${name} of row ${row}`).toEqual(COLUMNS[name]!.value(row));
    const encodings = read.metadata.row_groups[0]!.columns.map(({ meta_data }) => meta_data!.encodings);
    expect(encodings.filter((one) => one.includes('RLE_DICTIONARY')).length).toBeGreaterThan(0);
    expect(encodings.filter((one) => !one.includes('RLE_DICTIONARY')).length).toBeGreaterThan(3);
  });

  it('has no value in its statistics', async () => {
    const { metadata } = await readBack(convert(textOf(10)).file);
    for (const { columns } of metadata.row_groups)
      for (const { meta_data } of columns) expect(meta_data!.statistics).toBeUndefined();
  });

  it('is not valid if a later value needs a wider type, and says which', () => {
    const count = names.indexOf('count');
    const nothing = names.indexOf('nothing');
    const text = textOf(ROWS, (cells, row) => {
      if (row === ROWS - 2) cells[count] = '9223372036854775808' as ByteString;
      if (row === ROWS - 1) cells[nothing] = 'x' as ByteString;
    });
    const { outcome, types, rows } = convert(text);
    expect({ outcome, rows }).toEqual({ outcome: 'widened', rows: ROWS });
    expect(types[count]).toBe('decimal(38,0)');
    expect(types[nothing]).toBe('string');
    const again = convert(text, Object.fromEntries(names.map((name, at) => [name, types[at]!])));
    expect(again.outcome).toBe('written');
  });

  it('counts the values that do not fit a type of the configuration, and they are null', async () => {
    const { outcome, unfit, file } = convert(textOf(50), { unique: 'long' }, ['unique']);
    expect(outcome).toBe('written');
    expect(unfit[names.indexOf('unique')]).toBe(50);
    const { rows } = await readBack(file);
    expect(rows.every(({ unique }) => unique === null || unique === undefined)).toBe(true);
  });

  it('is rejected if a row has another number of cells, or the last row is incomplete', () => {
    const text = textOf(3);
    expect(() => convert(Buffer.concat([text, Buffer.from('a,b\n')]))).toThrow(RangeError);
    expect(() => convert(text.subarray(0, text.length - 1))).toThrow('ends within a row');
  });
});
