import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { toObjectKey } from '../../../src/lake/store/index.js';
import { convertPart } from '../../../src/table/parquet/convert-part.js';
import { parquetLibrary } from '../../../src/table/parquet/library.js';
import { temporaryLake } from '../../unit/lake/data-plane.js';
import { CSV } from '../../unit/lake/published.js';

/** More rows than one piece of the part holds. */
const ROWS = 20_000;
const rows = Array.from({ length: ROWS }, (_, row) => `row ${row},${'x'.repeat(row % 90)}\n`);
const text = `a,b\n${rows.join('')}`;

describe('the conversion of a part in its thread', () => {
  const lake = temporaryLake();
  let count = 0;

  /** Stores a part that should have the rows above, and converts it. */
  async function convert(body: Buffer, compression: 'gzip' | 'none' = 'gzip') {
    const key = lake.newKey(compression === 'gzip' ? '.csv.gz' : '.csv');
    const file = toObjectKey(`table/${count++}.parquet`);
    await lake.store.write(key, body);
    const columns = ['a', 'b'].map(
      (alias) => ({ alias, kind: 'string', type: 'empty', fixed: false }) as const,
    );
    const converted = await convertPart(lake.store, {
      part: { key, rows: ROWS },
      job: { csv: { ...CSV, compression }, columns },
      keyOf: () => file,
      signal: new AbortController().signal,
    });
    return { converted, file };
  }

  it.each(['gzip', 'none'] as const)('reads all rows of a part (%s)', async (compression) => {
    const body = compression === 'gzip' ? gzipSync(text) : Buffer.from(text);
    const { converted, file } = await convert(body, compression);
    expect(converted).toMatchObject({ outcome: 'written', rows: ROWS, types: ['string', 'string'] });
    const { reader } = await parquetLibrary();
    const stored = await lake.store.read(file);
    const read = await reader.parquetReadObjects({
      file: stored.buffer.slice(stored.byteOffset, stored.byteOffset + stored.byteLength) as ArrayBuffer,
      compressors: { GZIP: (input) => new Uint8Array(gunzipSync(input)) },
    });
    expect(read.map(({ a, b }) => `${a},${b ?? ''}\n`)).toEqual(rows);
  });

  it.each([
    ['is truncated', gzipSync(text).subarray(0, 5000), 'not an intact gzip file'],
    ['is no gzip file', Buffer.from(text), 'not an intact gzip file'],
    [
      'has a row with more cells at the beginning',
      gzipSync(text.replace('row 3,', 'row 3,,')),
      'row 4 has 3 cells',
    ],
    [
      'has a row with more cells at the end',
      gzipSync(text.replace('row 19999,', ',,')),
      'has 3 cells instead of 2',
    ],
    ['lacks a row', gzipSync(text.replace(rows[700]!, '')), '19999 rows instead of the 20000'],
    ['ends within a row', gzipSync(text.slice(0, -1)), 'ends within a row'],
  ])('rejects a part that %s, and converts the next one', async (_, body, message) => {
    await expect(convert(body)).rejects.toThrow(message);
    expect((await convert(gzipSync(text))).converted.outcome).toBe('written');
  });

  it('rejects a part whose error arrives before the answers to the pieces before it', async () => {
    const body = Buffer.from(text.replace('row 12000,', 'row 12000,,'));
    const busy = setInterval(() => {
      for (const until = performance.now() + 5; performance.now() < until; );
    });
    try {
      for (let attempt = 0; attempt < 12; attempt++)
        await expect(convert(body, 'none')).rejects.toThrow('has 3 cells instead of 2');
    } finally {
      clearInterval(busy);
    }
  });
});
