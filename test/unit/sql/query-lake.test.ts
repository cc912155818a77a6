import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { OPERATIONS } from '../../../src/sql/ddl/operations.js';
import { type QueryOptions, queryLake } from '../../../src/sql/query/query-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { REFUSED } from '../../support/refused-statements.js';

let mirror: InProcessMirror;
let cacheFolder: string;
let first: RunId;

beforeAll(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'worktrack-query-'));
  const yaml = '{ name: tasks }';
  mirror = await InProcessMirror.start({ simulator: { counts: { tasks: 300 } }, resource: 'tasks', yaml });
  first = (await mirror.run()).runId;
  await mirror.run({ full: true });
});
afterAll(async () => {
  await mirror.close();
  await rm(cacheFolder, { recursive: true, force: true });
});

const start = (sql: string, options: QueryOptions = {}) =>
  queryLake(mirror.settings, sql, { cacheFolder, ...options });

async function texts(sql: string, options: QueryOptions = {}): Promise<(string | null)[][]> {
  const rows = [];
  for await (const row of (await start(sql, options)).texts()) rows.push(row);
  return rows;
}

async function values(sql: string): Promise<unknown[]> {
  const rows = [];
  for await (const row of (await start(sql)).rows()) rows.push(row);
  return rows[0]!;
}

/** The SHA-256 of each file below a folder. */
async function hashes(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true });
  const found: Record<string, string> = {};
  for (const name of names.sort()) {
    const path = join(folder, name);
    if ((await stat(path)).isFile())
      found[name] = createHash('sha256')
        .update(await readFile(path))
        .digest('hex');
  }
  return found;
}

describe('a query', () => {
  it('counts the rows of the current snapshot, of a run, and of the change logs', async () => {
    expect(await texts('SELECT count(*) FROM tasks')).toEqual([['300']]);
    expect(await texts('SELECT count(DISTINCT _run_id), min(_run_id) FROM tasks', { run: first })).toEqual([
      ['1', first],
    ]);
    expect(await texts('SELECT count(*) FROM tasks_changes')).toEqual([['300']]);
    expect(await texts('SELECT typeof(id) FROM tasks_text LIMIT 1')).toEqual([['VARCHAR']]);
  });

  it.each([
    ['9007199254740993', '9007199254740993', 9007199254740993n],
    ['18446744073709551615::HUGEINT', '18446744073709551615', 18446744073709551615n],
    ['12.50::DECIMAL(9,2)', '12.50', '12.50'],
    ["TIMESTAMP '2026-11-21 02:00:00.5'", '2026-11-21T02:00:00.5Z', '2026-11-21T02:00:00.5Z'],
    ["TIMESTAMP '1969-12-31 23:59:59.999999'", '1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ["TIMESTAMPTZ '2026-11-21 02:00:00+02'", '2026-11-21T00:00:00Z', '2026-11-21T00:00:00Z'],
    ["DATE '2026-11-21'", '2026-11-21', '2026-11-21'],
    ['true', 'true', true],
    ["''", '', ''],
    ['NULL', null, null],
    ['7', '7', 7],
  ])('returns %s without a change', async (sql, text, value) => {
    expect(await texts(`SELECT ${sql}`)).toEqual([[text]]);
    expect(await values(`SELECT ${sql}`)).toEqual([value]);
  });

  it('lists the views of what is published, even if other resources are not', async () => {
    const never = { ...mirror.settings.resources[0]!, name: 'never-exported' };
    const settings = { ...mirror.settings, resources: [never, ...mirror.settings.resources] };
    const listed = async (sql: string, options: QueryOptions = {}) => {
      const rows = [];
      for await (const [name] of (await queryLake(settings, sql, { cacheFolder, ...options })).texts())
        rows.push(name);
      return rows.sort();
    };
    const operations = [...OPERATIONS].sort();
    expect(await listed('SHOW TABLES')).toEqual([
      'tasks',
      'tasks_changes',
      'tasks_changes_text',
      'tasks_text',
      ...operations,
    ]);
    expect(await listed('SHOW TABLES', { run: first })).toEqual(['tasks', 'tasks_text', ...operations]);
    await expect(listed('FROM never_exported')).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
  });

  it('names columns, their types and the runs', async () => {
    const result = await start('SELECT id, estimateSeconds, id FROM tasks LIMIT 0');
    expect(result.columns.map(({ name }) => name)).toEqual(['id', 'estimateSeconds', 'id:1']);
    expect(result.runs).toEqual({ tasks: mirror.published });
    await result.close();
  });

  it('has the types of the statements that ddl prints', async () => {
    const rows = await texts(
      "SELECT column_type FROM (DESCRIBE tasks) WHERE column_name IN ('done', 'updatedAt')",
    );
    expect(rows.flat().sort()).toEqual(['BOOLEAN', 'TIMESTAMP']);
  });

  it.each([
    ['SELECT nothing FROM tasks', /nothing/],
    ['SELECT * FROM unknown_view', /^there is no view unknown_view\.$/],
    ['SELECT lower(1, 2) FROM tasks', /^(?!.*\n).*lower/],
    ['SELECT 1; SELECT 2', /one statement at a time/],
    ['SELECT (', /syntax error/],
    ["SELECT * FROM read_text('/etc/hostname')", /disabled by configuration/],
    ["SELECT * FROM glob('/*')", /disabled by configuration/],
  ])('that is %s says what is wrong', async (sql, message) => {
    await expect(start(sql)).rejects.toMatchObject({
      code: 'QUERY',
      message: expect.stringMatching(message),
    });
  });

  it('lists the views if the statement names none of them', async () => {
    const remedy = 'The views are tasks; each of them with _changes; and worktrack_runs, ';
    await expect(start('SELECT * FROM task')).rejects.toMatchObject({
      remedy: expect.stringContaining(remedy),
    });
  });

  it('ends with exit code 2 for a run that was not published', async () => {
    const run = '20260101T000000Z-00000000' as RunId;
    await expect(start('FROM tasks', { run })).rejects.toMatchObject({
      code: 'SNAPSHOT_NOT_FOUND',
      exitCode: 2,
    });
  });

  it('changes nothing in the lake, and leaves only verified parts in its cache, whatever the statement is', async () => {
    const before = await hashes(mirror.folder);
    for (const sql of REFUSED) await expect(start(sql), sql).rejects.toMatchObject({ code: 'QUERY' });
    await texts('FROM tasks');
    expect(await hashes(mirror.folder)).toEqual(before);
    for (const [name, hash] of Object.entries(await hashes(cacheFolder))) expect(name).toContain(hash);
  });

  it('fetches a part again whose cached copy was changed, and none twice', async () => {
    const both = 'SELECT count(*) FROM tasks JOIN tasks_changes USING (id)';
    await texts(both);
    const fetched: number[] = [];
    const onFetch = ({ parts }: { readonly parts: number }) => void fetched.push(parts);
    await texts('FROM tasks', { onFetch });
    await texts(both, { onFetch });
    expect(fetched).toEqual([]);
    for (const name of Object.keys(await hashes(cacheFolder))) {
      const bytes = await readFile(join(cacheFolder, name));
      bytes[bytes.length - 1]! ^= 1;
      await writeFile(join(cacheFolder, name), bytes);
    }
    expect(await texts('SELECT count(*) FROM tasks')).toEqual([['300']]);
    expect(await texts('SELECT count(*) FROM tasks_changes')).toEqual([['300']]);
    for (const [name, hash] of Object.entries(await hashes(cacheFolder))) expect(name).toContain(hash);
  });

  it.each([
    ['a semicolon and a comment', "SELECT ';--' AS text; -- of one row", [[';--']]],
    ['a comment that ends on another line', 'FROM (SELECT 1 AS one) /* all\nof it */;\n', [['1']]],
    ['a WITH', 'WITH two AS (SELECT 2 AS n) FROM two;', [['2']]],
    ['a DESCRIBE', 'DESCRIBE SELECT 1 AS one;', [['one', 'INTEGER', 'YES', null, null, null]]],
  ])('writes a Parquet file of a statement with %s', async (_, sql, expected) => {
    const file = join(mirror.folder, '..', `worktrack-statement-${process.pid}.parquet`);
    try {
      await (await start(sql)).writeParquet(file);
      const duckdb = await (await DuckDBInstance.create()).connect();
      const read = await duckdb.runAndReadAll(`SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '${file}'`);
      duckdb.closeSync();
      expect(read.getRows()).toEqual(expected);
    } finally {
      await rm(file, { force: true });
    }
  });

  it('writes a Parquet file with the types of its columns', async () => {
    const file = join(mirror.folder, '..', `worktrack-query-${process.pid}.parquet`);
    try {
      await (await start('SELECT id, 12.50::DECIMAL(9,2) AS price FROM tasks; ')).writeParquet(file);
      expect((await readFile(file)).subarray(0, 4).toString()).toBe('PAR1');
      const exact = {
        'sum(9007199254740993) AS \'a "sum"\'': '9007199254740993',
        '18446744073709551615::UHUGEINT AS u': '18446744073709551615',
        '(99999999999999999999999999999999999999)::HUGEINT AS h': '9'.repeat(38),
        '[-9223372036854775809::HUGEINT] AS list': '[-9223372036854775809]',
        "{'HUGEINT': 1::HUGEINT} AS nested": "{'HUGEINT': 1}",
        '9007199254740993 AS b': '9007199254740993',
      };
      await (await start(`SELECT ${Object.keys(exact).join(', ')}`)).writeParquet(file);
      const duckdb = await (await DuckDBInstance.create()).connect();
      const read = `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '${file}'`;
      const { columnNames, rows } = await duckdb
        .runAndReadAll(read)
        .then((found) => ({ columnNames: found.columnNames(), rows: found.getRows() }));
      duckdb.closeSync();
      expect(columnNames).toEqual(['a "sum"', 'u', 'h', 'list', 'nested', 'b']);
      expect(rows).toEqual([Object.values(exact)]);
      const plan = start('EXPLAIN SELECT 1');
      await expect((await plan).writeParquet(file)).rejects.toThrow('A plan cannot be written to a Parquet');
      const tooLong = start('SELECT 170141183460469231731687303715884105727::HUGEINT AS h');
      await expect((await tooLong).writeParquet(file)).rejects.toMatchObject({ code: 'QUERY' });
    } finally {
      await rm(file, { force: true });
    }
  });
});
