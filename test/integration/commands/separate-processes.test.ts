import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertRowEquals } from '../../support/oracle.js';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const SIMULATOR = fileURLToPath(new URL('../../support/simulator-process.mjs', import.meta.url));
const KEY = 'wt_separate_key';

describe('`worktrack export` with service, S3, Temporal and worker in separate processes', () => {
  let service: ChildProcess;
  let url: string;
  let controlUrl: string;
  let stack: Stack;

  beforeAll(async () => {
    const counts = [
      '--projects',
      '30',
      '--tasks',
      '400',
      '--time-entries',
      '3000',
      '--calendar-entries',
      '120',
    ];
    service = spawn(
      process.execPath,
      [SIMULATOR, '--port', '0', '--seed', '42', '--members', '0', ...counts],
      {
        env: { ...process.env, WORKTRACK_SIMULATOR_KEY: KEY },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [line] = await once(service.stdout!, 'data');
    ({ url, controlUrl } = JSON.parse(String(line)) as { url: string; controlUrl: string });
    stack = await startStack({ s3: true, baseUrl: url, apiKey: KEY });
  });
  afterAll(async () => {
    await stack?.stop();
    service.kill('SIGTERM');
  });

  it('publishes rows that are equal to the service, value for value, for an independent reader', async () => {
    const worker = await startWorkerProcess(stack);
    const global = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const { code, stdout, stderr } = await runCommand(stack, ['export', ...global, '--json']);
    expect(code, stderr).toBe(0);
    const printed = JSON.parse(stdout) as {
      outcome: string;
      runs: { resource: string; rows: number; snapshot: string }[];
    };
    expect(printed.outcome).toBe('published');
    expect(Object.fromEntries(printed.runs.map((run) => [run.resource, run.rows]))).toEqual({
      projects: 30,
      tasks: 400,
      'time-entries': 3000,
      'calendar-entries': 120,
      members: 0,
    });
    for (const { resource, snapshot } of printed.runs) {
      const response = await fetch(`${controlUrl}/records/${resource}?scope=listed`);
      const records = (await response.text()).split('\n').filter((text) => text !== '');
      const { header } = await readSnapshot(stack.store, resource);
      const rows = await readWithDuckDb(join(stack.lakeFolder, snapshot, '..', 'part-*.csv.gz'), header);
      expect(rows.length, resource).toBe(records.length);
      const keyOf = (row: Record<string, unknown>): string =>
        resource === 'calendar-entries' ? `${row.source}\0${row.sourceKey}` : String(row.id);
      const byKey = new Map(rows.map((row) => [keyOf(row), row]));
      for (const record of records) assertRowEquals(byKey.get(keyOf(JSON.parse(record)))!, record);
    }
    const status = await runCommand(stack, ['status', ...global, '--json']);
    expect(status.code, status.stderr).toBe(0);
    const [connection] = (
      JSON.parse(status.stdout) as { connections: { resources: { name: string; rows: number }[] }[] }
    ).connections;
    expect(connection!.resources.map(({ name, rows }) => [name, rows])).toContainEqual([
      'time-entries',
      3000,
    ]);
    const verified = await runCommand(stack, ['verify', ...global]);
    expect(verified.code, verified.stderr + verified.stdout).toBe(0);
    await worker.signal('SIGTERM');
  });

  it('explains an invalid configuration, with exit code 2', async () => {
    const { code, stderr } = await runCommand(stack, ['export', '--config', 'nowhere.yaml']);
    expect(code).toBe(2);
    expect(stderr).toContain('nowhere.yaml');
    expect(stderr).not.toContain('    at ');
  });

  it('gives up with exit code 4 when Temporal is unreachable', async () => {
    const args = ['export', '--config', stack.configFile];
    const { code, stderr } = await runCommand(stack, args, {
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      WORKTRACK_REACH_TIMEOUT: '2s',
    });
    expect(code, stderr).toBe(4);
    expect(stderr).toContain('127.0.0.1:1');
  });

  it('publishes under a pointer that names the snapshot', async () => {
    const pointer = await readPointer(stack.store, 'projects');
    expect(pointer.snapshot).toMatch(
      /^projects\/snapshots\/dt=\d{4}-\d\d-\d\d\/run=\d{8}T\d{6}Z-[0-9a-f]{8}\/_datapackage\.json$/,
    );
    expect(pointer).toMatchObject({
      resource: 'projects',
      rows: 30,
      connection: stack.connection,
      baseUrl: url,
    });
  });
});

async function readWithDuckDb(
  glob: string,
  header: readonly string[],
): Promise<Record<string, string | null>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  // Names that clash for DuckDB are of no concern here: columns are taken by position.
  const columns = header.map((_, at) => `'c${at}': 'VARCHAR'`).join(', ');
  // The mark in front keeps the client's decoder from taking a value's first character for a byte order mark.
  const reader = await connection.runAndReadAll(
    `SELECT ${header.map((_, at) => `'>' || c${at}`).join(', ')} FROM read_csv('${glob}', header = true, auto_detect = false, delim = ',', quote = '"', escape = '"',
       columns = {${columns}}, allow_quoted_nulls = false, hive_partitioning = false, max_line_size = 10000000)`,
  );
  const rows = reader.getRows().map((cells) => {
    const row: Record<string, string | null> = Object.create(null);
    for (const [at, name] of header.entries()) row[name] = (cells[at] as string | null)?.slice(1) ?? null;
    return row;
  });
  connection.closeSync();
  instance.closeSync();
  return rows;
}
