import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duckDbBindings } from '../../../src/core/duckdb-library.js';
import {
  assembleFile,
  metadataOf,
  namesOf,
  openParquet,
  type ParquetFile,
  rowsOfGroups,
} from '../../../src/table/parquet/assemble-file.js';
import { connectTo } from '../../../src/table/parquet/convert-text.js';
import { encodeStruct } from '../../../src/table/parquet/thrift.js';
import { readParquet } from '../../support/read-parquet.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-assemble-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const opened = connectTo(duckDbBindings('a test'), folder);

let files = 0;

/** A file of DuckDB. @param rows SQL for its rows */
async function fileOf(rows: string, options = 'COMPRESSION zstd'): Promise<ParquetFile> {
  const path = join(folder, `${files++}.parquet`);
  await (await opened).run(
    `COPY (${rows}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048, KV_METADATA {'of': 'é'}, ${options})`,
  );
  return openParquet(path);
}

const TYPED = `SELECT i AS id, 'name ' || i % 7 AS name, CASE WHEN i % 3 > 0 THEN i / 4 END AS share,
  CAST(i AS DECIMAL(38, 2)) AS price, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL 1 SECOND * i AS moment, i % 2 = 0 AS done,
  CAST(NULL AS VARCHAR) AS nothing, md5(CAST(i AS VARCHAR)) AS text FROM range(5000) AS t(i)`;

async function rowsOf(path: string): Promise<readonly Record<string, unknown>[]> {
  return (await readParquet(readFileSync(path))).rows;
}

describe('a file that is assembled from columns of others', () => {
  let typed: ParquetFile;
  beforeAll(async () => {
    typed = await fileOf(TYPED);
  });

  it.each(['zstd', 'snappy', 'gzip'])('has their values, with %s', async (codec) => {
    const left = await fileOf(`SELECT id, name, share, price FROM (${TYPED})`, `COMPRESSION ${codec}`);
    const right = await fileOf(`SELECT moment, done, nothing, text FROM (${TYPED})`, `COMPRESSION ${codec}`);
    const to = join(folder, `${codec}.parquet`);
    const columns = [left, right].flatMap((file) => [0, 1, 2, 3].map((column) => ({ file, column })));
    const groups = rowsOfGroups(left.footer).map((_, group) => columns.map((one) => ({ ...one, group })));
    expect(groups.length).toBe(3);
    assembleFile(to, groups, { is: 'ü' });
    expect(await rowsOf(to)).toEqual(await rowsOf(typed.path));
    expect(metadataOf((await openParquet(to)).footer)).toEqual({ is: 'ü' });
    const connection = await opened;
    const differing = await connection.texts(
      `SELECT count(*) FROM (((SELECT * FROM '${to}') EXCEPT ALL (${TYPED})) UNION ALL ((${TYPED}) EXCEPT ALL (SELECT * FROM '${to}')))`,
    );
    expect(differing).toEqual([['0']]);
    // Values in the footer, which say that no row group has such rows.
    const found = await connection.texts(
      `SELECT id FROM '${to}' WHERE id >= 4990 AND text > 'f' ORDER BY id`,
    );
    const rows = await connection.texts(
      `SELECT id FROM (${TYPED}) WHERE id >= 4990 AND text > 'f' ORDER BY id`,
    );
    expect(found).toEqual(rows);
  });

  it('has row groups of several files, in any order of columns', async () => {
    const [one, other] = [await fileOf('SELECT 1 AS a, 2 AS b'), await fileOf('SELECT 3 AS a, 4 AS b')];
    const to = join(folder, 'order.parquet');
    assembleFile(
      to,
      [other, one].map((file) => [1, 0].map((column) => ({ file, column, group: 0 }))),
      {},
    );
    expect(await rowsOf(to)).toEqual([
      { b: 4, a: 3 },
      { b: 2, a: 1 },
    ]);
  });

  it('has columns of several MiB, some with their neighbours', async () => {
    const large = await fileOf(
      'SELECT i, repeat(md5(i::VARCHAR), 200) AS a, -i AS b FROM range(3000) AS t(i)',
      'COMPRESSION uncompressed',
    );
    const to = join(folder, 'large.parquet');
    const other = await fileOf('SELECT i * 2 AS i FROM range(3000) AS t(i)', 'COMPRESSION uncompressed');
    const groups = [0, 1].map((group) =>
      [0, 1, 2].map((column) => ({ file: group === 1 && column === 0 ? other : large, column, group })),
    );
    assembleFile(to, groups, {});
    const expected = (await rowsOf(large.path)).map((row, at) =>
      at < 2048 ? row : { ...row, i: BigInt(2 * at) },
    );
    expect(await rowsOf(to)).toEqual(expected);
  });

  it('is not written if the columns have different rows, names or types', async () => {
    const to = join(folder, 'never.parquet');
    const [rows, name, type] = await Promise.all(
      ['SELECT 1 AS a FROM range(2)', 'SELECT 1 AS b', "SELECT 'x' AS a"].map((sql) => fileOf(sql)),
    );
    const source = { file: await fileOf('SELECT 1 AS a'), group: 0, column: 0 };
    expect(() => assembleFile(to, [[source, { ...source, file: rows! }]], {})).toThrow(RangeError);
    for (const file of [name!, type!])
      expect(() => assembleFile(`${to}-`, [[source], [{ ...source, file }]], {})).toThrow(RangeError);
  });
});

describe('the footer of a Parquet file', () => {
  it.each([TYPED, `SELECT ${Array.from({ length: 300 }, (_, at) => `${at} AS f${at}`).join(', ')}`])(
    'is written as DuckDB writes it: %#',
    async (sql) => {
      const { path, footer } = await fileOf(sql);
      const body = readFileSync(path);
      const length = body.readUInt32LE(body.length - 8);
      expect(encodeStruct(footer)).toEqual(body.subarray(body.length - 8 - length, body.length - 8));
    },
  );

  it('has the metadata and the names of the columns', async () => {
    const { footer } = await fileOf('SELECT 1 AS a, 2 AS "é ,"');
    expect([metadataOf(footer), namesOf(footer)]).toEqual([{ of: 'é' }, ['a', 'é ,']]);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a few bytes', Buffer.from('PAR1')],
    ['text', Buffer.from('a,b\n1,2\n3,4\n')],
    ['a length beyond the file', Buffer.from('PAR1PAR1\xff\xff\xff\x7fPAR1', 'latin1')],
    ['no struct', Buffer.concat([Buffer.alloc(60, 0xff), Buffer.from('\x3c\0\0\0PAR1', 'latin1')])],
  ])('is not read from %s', async (_, body) => {
    const path = join(folder, `${files++}.parquet`);
    writeFileSync(path, body);
    await expect(openParquet(path)).rejects.toThrow(RangeError);
  });
});
