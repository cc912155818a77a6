import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { toObjectKey } from '../../../src/lake/store/index.js';
import { convertPart } from '../../../src/table/parquet/convert-part.js';
import { readParquet } from '../../support/read-parquet.js';
import { temporaryLake } from '../../unit/lake/data-plane.js';
import { CSV } from '../../unit/lake/published.js';

/** More rows than one piece of the part holds. */
const ROWS = 20_000;
const rows = Array.from({ length: ROWS }, (_, row) => `row ${row},${'x'.repeat(row % 90)}\n`);
const text = `a,b\n${rows.join('')}`;

describe('the conversion of a part in its process', () => {
  const lake = temporaryLake();
  let count = 0;

  /** Stores a part that should have the rows above, and converts it. @param damaged what the store has instead */
  async function convert(body: Buffer, compression: 'gzip' | 'none' = 'gzip', damaged?: Buffer) {
    const key = lake.newKey(compression === 'gzip' ? '.csv.gz' : '.csv');
    const file = toObjectKey(`table/${count++}.parquet`);
    const { bytes, sha256 } = await lake.store.write(key, body);
    if (damaged !== undefined) await lake.store.write(key, damaged);
    const columns = ['a', 'b'].map(
      (alias) => ({ alias, kind: 'string', type: 'empty', fixed: false }) as const,
    );
    const converted = await convertPart(lake.store, {
      part: { key, rows: ROWS, bytes, sha256, rawBytes: text.length },
      layout: { csv: { ...CSV, compression }, columns },
      fileOf: () => ({ path: 'a-file', key: file }),
      codec: 'zstd',
      signal: new AbortController().signal,
    });
    return { converted, file };
  }

  it.each(['gzip', 'none'] as const)('reads all rows of a part (%s)', async (compression) => {
    const body = compression === 'gzip' ? gzipSync(text) : Buffer.from(text);
    const { converted, file } = await convert(body, compression);
    expect(converted).toMatchObject({ rows: ROWS, types: ['string', 'string'] });
    const { rows: read } = await readParquet(await lake.store.read(file));
    expect(read.map(({ a, b }) => `${a},${b ?? ''}\n`)).toEqual(rows);
  });

  it.each([
    ['is truncated', gzipSync(text).subarray(0, 5000), 'it has 5000 bytes instead of'],
    ['has a wrong checksum', withWrongChecksum(gzipSync(text)), 'its SHA-256 is not'],
  ])('rejects a part that %s, although DuckDB would read rows', async (_, damaged, message) => {
    await expect(convert(gzipSync(text), 'gzip', damaged)).rejects.toThrow(message);
    expect((await convert(gzipSync(text))).converted.rows).toBe(ROWS);
  });

  it.each([
    [
      'has a row with more cells at the beginning',
      text.replace('row 3,', 'row 3,,'),
      'does not have the columns',
    ],
    ['has a row with more cells at the end', text.replace('row 19999,', ',,'), 'does not have the columns'],
    ['lacks a row', text.replace(rows[700]!, ''), '19999 rows instead of the 20000'],
  ])(
    'rejects a part that %s, with no value in the message, and converts the next one',
    async (_, body, message) => {
      const failed = convert(gzipSync(body));
      await expect(failed).rejects.toThrow(message);
      await expect(failed).rejects.not.toThrow('row 3');
      expect((await convert(gzipSync(text))).converted.rows).toBe(ROWS);
    },
  );

  it('restores the values that csv escapes', async () => {
    const key = lake.newKey('.csv.gz');
    const body = gzipSync("a,b\n'=1+1,one\\\\two\\nthree\n");
    const { bytes, sha256 } = await lake.store.write(key, body);
    const file = toObjectKey(`table/${count++}.parquet`);
    await convertPart(lake.store, {
      part: { key, rows: 1, bytes, sha256, rawBytes: 50 },
      layout: {
        csv: { ...CSV, lineBreaks: 'escape', escapeFormulas: true },
        columns: ['a', 'b'].map((alias) => ({ alias, kind: 'string', type: 'empty', fixed: false }) as const),
      },
      fileOf: () => ({ path: 'a-file', key: file }),
      codec: 'zstd',
      signal: new AbortController().signal,
    });
    expect((await readParquet(await lake.store.read(file))).rows).toEqual([
      { a: '=1+1', b: 'one\\two\nthree' },
    ]);
  });
});

/** Another checksum in the trailer of a gzip file. */
function withWrongChecksum(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  changed[changed.length - 8]! ^= 0xff;
  return changed;
}
