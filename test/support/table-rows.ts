import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { tableKeys } from '../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { readTableColumns } from '../../src/table/index.js';
import { readTable } from '../../src/table/log/read-table.js';

/** The rows of a resource's table, by the name of the column in the snapshot, as the library hyparquet reads its files. */
export async function readTableRows(
  store: ObjectStore,
  resource: string,
): Promise<Record<string, unknown>[]> {
  const { state } = await readTable(store, resource);
  const columns = (await readTableColumns(store, resource)) ?? [];
  const rows: Record<string, unknown>[] = [];
  for (const { path } of state.files.values()) {
    const bytes = await store.read(tableKeys(resource).data(path));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const found = await parquetReadObjects({
      ...{ file, metadata: parquetMetadata(file) },
      compressors,
    });
    for (const row of found)
      rows.push(Object.fromEntries(columns.map(({ name, alias }) => [name, row[alias] ?? null])));
  }
  return rows;
}

/** Whether a value of a table is the one that a text of the service or of the lake stands for. */
export function isValueOf(value: unknown, text: string | null): boolean {
  if (value === null || text === null) return value === text;
  if (typeof value === 'string') return value === text;
  if (typeof value === 'bigint') return /^-?\d+$/.test(text) && BigInt(text) === value;
  if (typeof value === 'number') return isNumber(value, text);
  if (value instanceof Date) return Date.parse(text) === value.getTime();
  return String(value) === text;
}

/**
 * hyparquet gives a decimal as its digits times a power of ten, both as numbers, which is not always the nearest number: 1e30 with three
 * digits after the point is 9.999999999999999e+29.
 */
function isNumber(value: number, text: string): boolean {
  if (Number(text) === Number(value.toFixed(9))) return true;
  const parts = /^(-?\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(text);
  if (parts === null) return false;
  const [, digits, fraction = '', exponent = '0'] = parts;
  const places = Number(exponent) - fraction.length;
  return Array.from({ length: MAX_SCALE + 1 }, (_, scale) => scale).some(
    (scale) =>
      places + scale >= 0 &&
      Number(BigInt(`${digits}${fraction}`) * 10n ** BigInt(places + scale)) * 10 ** -scale === value,
  );
}

/** Most digits after the point of a decimal in Parquet. */
const MAX_SCALE = 38;
