import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { auditKey } from '../../../src/lake/documents/audit-statement.js';
import { OPERATIONS, operationStatements } from '../../../src/sql/ddl/operations.js';
import { queryLake } from '../../../src/sql/query/query-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';

let mirror: InProcessMirror;
let cacheFolder: string;
const runs: string[] = [];

async function texts(sql: string): Promise<(string | null)[][]> {
  const rows = [];
  for await (const row of (await queryLake(mirror.settings, sql, { cacheFolder })).texts()) rows.push(row);
  return rows;
}

/** The same by the statements of `ddl` in a session of DuckDB that reads the lake. */
async function byStatements(sql: string): Promise<(string | null)[][]> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const found = new Set(['manifests', 'receipts', 'audits'] as const);
  for (const one of operationStatements(mirror.settings.lake, found)) await connection.run(one.sql);
  const rows = (await connection.runAndReadAll(sql)).getRows();
  return rows.map((row) => row.map((value) => (value === null ? null : String(value))));
}

beforeAll(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'worktrack-operations-'));
  const yaml = '{ name: tasks, checks: [{ rows: { min: 1 } }] }';
  mirror = await InProcessMirror.start({ simulator: { counts: { tasks: 30 } }, resource: 'tasks', yaml });
});
afterAll(async () => {
  await mirror.close();
  await rm(cacheFolder, { recursive: true, force: true });
});

// One lake, before and after its runs.
describe('Views of operations', { shuffle: false }, () => {
  it('have no rows before the first run', async () => {
    for (const name of OPERATIONS) expect(await texts(`SELECT count(*) FROM ${name}`), name).toEqual([['0']]);
  });

  it('show published runs, checks, changes of the columns, receipts and audits, in `query` and by the statements of `ddl`', async () => {
    const { store, simulator } = mirror;
    runs.push((await mirror.run()).runId);
    simulator.admin.create('tasks', { title: 'new', extra: 1 });
    runs.push((await mirror.run()).runId);
    simulator.admin.create('tasks', { title: 'newer', extra: 'text' });
    runs.push((await mirror.run({ full: true })).runId);
    // A run that ended before its swap.
    const [, second] = runs as [string, string];
    const key = (await store.listFolders('tasks/snapshots/'))[0]!;
    const unpublished = second.replace(/-.*/, '-00000000');
    const from = `tasks/snapshots/${key}/run=${second}/_datapackage.json` as ObjectKey;
    const body = (await store.read(from)).toString('utf8').replaceAll(second, unpublished);
    await store.write(
      `tasks/snapshots/${key}/run=${unpublished}/_datapackage.json` as ObjectKey,
      Buffer.from(body),
    );
    // And one of a chain that an adopted pointer has left behind.
    const next = second.replace(/-.*/, '-00000001');
    await store.write(
      `tasks/snapshots/${key}/run=${next}/_datapackage.json` as ObjectKey,
      Buffer.from(
        body
          .replaceAll(unpublished, next)
          .replace(/"previousRunId":"[^"]*"/, `"previousRunId":"${unpublished}"`),
      ),
    );
    const results =
      'row,key,idempotency_key,outcome,http_status,id,message\n1,,k1,created,201,t1,\n2,,k2,rejected,422,,"a ""b"""\n';
    await store.write('_write-back/b-1/results.csv' as ObjectKey, Buffer.from(results));
    const audited = {
      name: 'tasks',
      runId: runs[2],
      rows: 32,
      cells: 288,
      equal: 32,
      different: 0,
      missing: 0,
      extra: 0,
    };
    const statement = {
      auditedAt: '2026-11-21T02:00:00.000Z',
      connection: 'acme',
      version: '0.2.0',
      partial: false,
    };
    await store.write(
      auditKey(Date.parse(statement.auditedAt)),
      Buffer.from(
        JSON.stringify(
          {
            ...statement,
            resources: [
              { ...audited, pending: 0, notYetLookedFor: 0, notComparable: 0 },
              { name: 'x', error: 'Transient' },
            ],
          },
          null,
          2,
        ),
      ),
    );
    for (const read of [texts, byStatements]) {
      const listed = await read(
        'SELECT run_id, mode, "rows", inserted, previous_run_id FROM worktrack_runs ORDER BY run_id',
      );
      expect(listed).toEqual([
        [runs[0], 'full', '30', '30', null],
        [runs[1], 'increment', '31', '1', runs[0]],
        [runs[2], 'full', '32', '1', runs[1]],
      ]);
      expect(
        await read('SELECT DISTINCT dt::VARCHAR, published_at >= started_at FROM worktrack_runs'),
      ).toEqual([[`${runs[0]!.slice(0, 4)}-${runs[0]!.slice(4, 6)}-${runs[0]!.slice(6, 8)}`, 'true']]);
      expect(
        await read('SELECT "columns" FROM worktrack_runs ORDER BY run_id').then(
          (rows) => Number(rows[1]![0]) - Number(rows[0]![0]),
        ),
      ).toBe(1);
      expect(await read('SELECT run_id, "check", outcome FROM worktrack_checks ORDER BY run_id')).toEqual(
        runs.map((run) => [run, 'rows', 'passed']),
      );
      expect(
        await read(
          'SELECT run_id, "column", change, types_before::VARCHAR, types_after::VARCHAR FROM worktrack_schema_changes ORDER BY run_id',
        ),
      ).toEqual([
        [runs[1], 'extra', 'added', null, '[integer]'],
        [runs[2], 'extra', 'types', '[integer]', '[integer, string]'],
      ]);
      expect(
        await read(
          'SELECT batch_id, "row", outcome, http_status, id, message FROM worktrack_receipts ORDER BY "row"',
        ),
      ).toEqual([
        ['b-1', '1', 'created', '201', 't1', null],
        ['b-1', '2', 'rejected', '422', null, 'a "b"'],
      ]);
      expect(
        await read(
          'SELECT resource, run_id, "rows", different, error FROM worktrack_audits ORDER BY resource',
        ),
      ).toEqual([
        ['tasks', runs[2], '32', '0', null],
        ['x', null, null, null, 'Transient'],
      ]);
      expect(
        await read(
          'SELECT typeof(published_at), typeof(dt), typeof("rows"), typeof(warnings) FROM worktrack_runs LIMIT 1',
        ),
      ).toEqual([['TIMESTAMP', 'DATE', 'BIGINT', 'VARCHAR[]']]);
    }
  });
});
