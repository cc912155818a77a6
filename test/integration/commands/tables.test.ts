import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOf, pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { META_COLUMNS } from '../../../src/lake/rows/data-columns.js';
import { Duck } from '../../support/duckdb.js';
import { writeFolderConfig } from '../../support/folder-config.js';
import { requestRun } from '../../support/mirror-requests.js';
import { assertRowEquals } from '../../support/oracle.js';
import { runCommand } from '../../support/processes.js';
import { type ReadTree, readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;
const CLI = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

type Record = { id: string };
const idOf = (text: string): string => (JSON.parse(text) as Record).id;

/** The records of the service when a run read it, and the change log rows that the run must have written. */
interface Run {
  readonly runId: string;
  readonly date: string;
  readonly records: readonly string[];
  readonly changed: readonly string[];
}

describe('published data for readers of the lake', () => {
  let stack: Stack;
  let duck: Duck;
  /** The same lake, which is a folder to those on its machine. */
  let folderConfig: string;
  /** Of `tasks`, in the order of publishing. */
  const runs: Run[] = [];

  const inFolder = (...args: string[]) => runCommand(stack, [...args, '--config', folderConfig]);
  const inS3 = (...args: string[]) => runCommand(stack, [...args, '--config', stack.configFile]);

  /** Remembers what the last run published. */
  async function remember(changed: readonly string[]): Promise<void> {
    const { runId, snapshot } = await readPointer(stack.store, 'tasks');
    const records = stack.simulator.admin.records('tasks', 'listed');
    runs.push({ runId, date: /dt=([^/]+)/.exec(snapshot)![1]!, records, changed });
  }

  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      simulator: {
        seed: 21,
        awkward: true,
        awkwardEvery: 3,
        counts: { projects: 3, tasks: 400, 'time-entries': 900, members: 0 },
      },
      resources: '[projects, tasks, time-entries, members]',
    });
    await stack.startWorker();
    folderConfig = await writeFolderConfig(stack);
    duck = await Duck.open();

    const { admin } = stack.simulator;
    const first = await stack.export({ resources: ['tasks', 'time-entries', 'members'] });
    expect(first.outcome).toBe('published');
    await remember(admin.records('tasks').map(idOf));
    const firstDay = Date.parse(runs[0]!.date);

    const numbers = ['9007199254740993', '-9223372036854775808', '9223372036854775807'];
    const changed = new Set<string>();
    const ids = admin.records('tasks').map(idOf);
    for (const [at, number] of numbers.entries()) {
      changed.add(ids[at * 7]!);
      admin.update('tasks', ids[at * 7]!, `{"ledgerNumber":${number},"title":"a \\"b\\",\\nc;\\r\\\\N "}`);
    }
    admin.update('tasks', ids[3]!, '{"title":"","memo":""}');
    admin.update('tasks', ids[4]!, '{"title":null,"memo":null}');
    const created = admin.create('tasks', '{"title":"=1+1","ledgerNumber":7,"nested":{"a":[1.50,null,""]}}');
    for (const id of [ids[3]!, ids[4]!, created]) changed.add(id);
    expect((await requestRun(stack, 'tasks', { nominalStart: firstDay - DAY })).outcome).toBe('published');
    await remember([...changed]);

    const again = admin.touch('tasks', { count: 4, pick: 'spread' });
    await requestRun(stack, 'tasks', { nominalStart: firstDay + DAY / 2 });
    await remember(again);
    const last = admin.touch('tasks', { count: 2, pick: 'newest' });
    await requestRun(stack, 'tasks', { nominalStart: firstDay - 3 * DAY });
    await remember(last);
  });
  afterAll(async () => {
    duck?.close();
    await stack?.stop();
  });

  function assertRows(rows: ReadTree['rows'], records: readonly string[]): void {
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.size).toBe(rows.length);
    expect([...byId.keys()].sort()).toEqual(records.map(idOf).sort());
    for (const record of records) assertRowEquals(byId.get(idOf(record))!, record);
  }

  it('ddl: the printed SQL runs in DuckDB and returns the current rows, equal to the service, value for value', async () => {
    const { code, stdout, stderr } = await inFolder('ddl', '--text');
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('Skipped: projects: nothing is published');
    expect(stderr).toContain('main.js export');
    await duck.run(stdout);
    for (const resource of ['tasks', 'time-entries', 'members']) {
      const { header } = await readSnapshot(stack.store, resource);
      const rows = await duck.rows(`${resource.replace('-', '_')}_text`, header);
      assertRows(rows, stack.simulator.admin.records(resource, 'listed'));
    }
    const { header } = await readSnapshot(stack.store, 'tasks');
    const titles = (await duck.rows('tasks_text', header)).map((row) => row.title);
    expect(titles.filter((title) => title === '').length).toBeGreaterThan(1);
    expect(titles.filter((title) => title === null).length).toBeGreaterThan(1);
    expect(
      await duck.select('SELECT "ledgerNumber" FROM tasks WHERE "ledgerNumber" IS NOT NULL ORDER BY 1'),
    ).toEqual([[-9223372036854775808n], [7n], [9007199254740993n], [9223372036854775807n]]);
  });

  it('ddl: the change log has the rows of every published run as of that run', async () => {
    await duck.run((await inFolder('ddl', '--text', '--resource', 'tasks')).stdout);
    const { header } = await readSnapshot(stack.store, 'tasks');
    const log = await duck.rows('tasks_changes_text', header);
    expect(new Set(log.map((row) => row._run_id))).toEqual(new Set(runs.map(({ runId }) => runId)));
    for (const { runId, records, changed } of runs) {
      assertRows(
        log.filter((row) => row._run_id === runId),
        records.filter((record) => changed.includes(idOf(record))),
      );
    }
    expect(
      await duck.select('SELECT count(*) FROM tasks_changes WHERE "ledgerNumber" = 9007199254740993'),
    ).not.toEqual([[0n]]);
  });

  it('ddl --dt: reads the last run of that day, whichever day was published last', async () => {
    const days = new Map(runs.map((run) => [run.date, run]));
    expect(days.size).toBe(3);
    for (const [date, run] of days) {
      const { code, stdout, stderr } = await inFolder('ddl', '--text', '--dt', date);
      expect(code, stderr).toBe(0);
      await duck.run(stdout);
      const view = `tasks_on_${date.replaceAll('-', '_')}_text`;
      const columns = await duck.select(`SELECT column_name FROM (DESCRIBE "${view}")`);
      const { header } = await readSnapshot(stack.store, 'tasks');
      const rows = await duck.rows(view, header.slice(0, columns.length));
      assertRows(rows, run.records);
      // Which of two runs with equal values it is, only its own rows tell.
      expect(rows.map((row) => row._run_id).reduce((a, b) => (a! > b! ? a : b))).toBe(run.runId);
    }
  });

  it('ddl --dt: a day without a run is an error that lists the available days', async () => {
    const { code, stdout, stderr } = await inFolder('ddl', '--resource', 'tasks', '--dt', '2001-02-03');
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('tasks: no snapshot of 2001-02-03');
    for (const { date } of runs) expect(stderr).toContain(date);
    expect((await inFolder('ddl', '--dt', '2026-02-30')).stderr).toContain('--dt must be a day');
  });

  it('ddl: prints the same for the bucket, with its access settings but without secrets', async () => {
    const bucket = await inS3('ddl', '--resource', 'tasks');
    const folder = await inFolder('ddl', '--resource', 'tasks');
    const statements = (script: string) =>
      script.split('\n').filter((line) => line !== '' && !line.startsWith('--'));
    const { url, endpoint, region } = stack.settings.connections[0]!.lake;
    expect(statements(bucket.stdout.replaceAll(url, stack.lakeFolder))).toEqual(statements(folder.stdout));
    const comments = bucket.stdout.split('\n').filter((line) => line.startsWith('--'));
    for (const hint of ['LOAD httpfs', new URL(endpoint!).host, region!, "URL_STYLE 'path'", url]) {
      expect(comments.join('\n')).toContain(hint);
    }
    expect(bucket.stdout + bucket.stderr).not.toContain(stack.servers.s3SecretAccessKey);
  });

  it.each([
    ['clickhouse', 'CREATE OR REPLACE VIEW `tasks`'],
    ['spark', 'CREATE OR REPLACE TEMPORARY VIEW `tasks_text`'],
  ])('ddl --dialect %s: prints statements over the run in the bucket', async (dialect, statement) => {
    const { code, stdout } = await inS3('ddl', '--dialect', dialect, '--resource', 'tasks');
    expect(code).toBe(0);
    expect(stdout).toContain(statement);
    expect(stdout).toContain(`run=${runs.at(-1)!.runId}`);
  });

  it.each(['athena', 'trino'])(
    'ddl --dialect %s: refuses line breaks that the engine cannot read, with their number',
    async (dialect) => {
      const refused = await inS3('ddl', '--dialect', dialect, '--resource', 'tasks');
      const { rows } = await readSnapshot(stack.store, 'tasks');
      const cells = rows.flatMap((row) => Object.values(row).map((cell) => cell ?? ''));
      const names = (await readSnapshot(stack.store, 'tasks')).header;
      const breaks = [...cells, ...names].reduce((sum, cell) => sum + cell.split(/\r\n|\n|\r/).length - 1, 0);
      expect(refused.stderr).toContain(`tasks: its files have ${breaks} line breaks inside cells`);
      expect(refused.stderr).toContain('lineBreaks: escape');
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      const { code, stdout } = await inS3('ddl', '--dialect', dialect, '--resource', 'members', '--newest');
      expect(code).toBe(0);
      for (const view of ['members', 'members_changes', 'members_newest'])
        expect(stdout).toContain(`CREATE OR REPLACE VIEW "${view}" AS`);
    },
  );

  it.each([
    [['ddl', '--resource', 'projects'], 2, /projects: nothing is published.*\n.*Run an export first/],
    [['cat', 'projects'], 2, /projects: nothing is published.*\n.*Run an export first/],
    [['cat', 'task'], 2, /has no resource "task".*tasks/],
    [['cat', 'tasks', '--limit', '-1'], 2, /--limit must be a whole number/],
    [['cat', 'tasks', '--dt', 'yesterday'], 2, /--dt must be a day/],
    [['cat', 'tasks', '--delimiter', '::'], 2, /--delimiter must be one character/],
    [['cat', 'tasks', '--json', '--csv-excel'], 2, /--json cannot be combined with --csv-excel/],
    [['ddl', '--dialect', 'athena'], 2, /Athena reads only from S3/],
    [['ddl', '--dialect', 'oracle'], 2, /Allowed choices are duckdb, athena, trino, spark, clickhouse/],
    [['ddl', '--dialect', 'snowflake'], 2, /--dialect snowflake reads only Delta tables. Add --delta/],
    [['ddl', '--delta'], 2, /has no Delta tables. Set `tables: { format: delta }`/],
    [['ddl', '--delta', '--dt', '2026-11-21'], 2, /use either --delta or --dt/],
    [['ddl', '--delta', '--numbers', 'double'], 2, /use either --delta or --numbers/],
    [['ddl', '--delta', '--text'], 2, /use either --delta or --text/],
    [['ddl', '--delta', '--newest'], 2, /use either --delta or --newest/],
    [['ddl', '--newest', '--dt', '2026-11-21'], 2, /use either --newest or --dt/],
  ])('%j exits with %i and gives the reason', async (args, code, why) => {
    const result = await inFolder(...args);
    expect(result.stderr).toMatch(why);
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('');
    expect(result.stderr).not.toContain('    at ');
  });

  it('ddl and cat: exit with 4 if the lake does not answer, and with 1 if it is damaged', async () => {
    const env = { WORKTRACK_REACH_TIMEOUT: '1s' };
    const yaml = (await readFile(stack.configFile, 'utf8')).replace(
      /endpoint: "[^"]+"/,
      'endpoint: "http://127.0.0.1:1"',
    );
    const nowhere = join(stack.folder, 'nowhere.yaml');
    await writeFile(nowhere, yaml);
    expect((await runCommand(stack, ['cat', 'tasks', '--config', nowhere], env)).code).toBe(4);
    const pointer = pointerKey('projects');
    await stack.store.write(pointer, Buffer.from('{"runId":'));
    const result = await inFolder('ddl', '--resource', 'projects');
    await stack.store.remove([pointer]);
    expect(result.stderr).toContain('projects/latest.json cannot be read');
    expect(result.code).toBe(1);
  });

  it('cat: prints the parts byte for byte, up to the requested number of rows', async () => {
    const { snapshot } = await readPointer(stack.store, 'time-entries');
    const { parts } = decodeManifest(await stack.store.read(snapshot), folderOf(snapshot));
    expect(parts.length).toBe(1);
    const part = gunzipSync(await stack.store.read(parts[0]!.key)).toString();
    const all = await inS3('cat', 'time-entries', '--limit', '0');
    expect(all.code, all.stderr).toBe(0);
    expect(all.stdout).toBe(part);
    const some = await inS3('cat', 'time-entries', '--limit', '7');
    expect(part.startsWith(some.stdout)).toBe(true);
    await writeFile(join(stack.folder, 'some.csv'), some.stdout);
    const counted = `SELECT count(*) FROM read_csv('${join(stack.folder, 'some.csv')}', all_varchar = true, header = true, strict_mode = false)`;
    expect(await duck.select(counted)).toEqual([[7n]]);
    const twenty = await inS3('cat', 'time-entries', '--json');
    expect((JSON.parse(twenty.stdout) as { rows: [] }).rows.length).toBe(20);
  });

  it('cat --json: prints one object, with distinct null and empty strings', async () => {
    const { code, stdout } = await inS3('cat', 'tasks', '--json', '--limit', '0');
    expect(code).toBe(0);
    const printed = JSON.parse(stdout) as ReadTree & { resource: string; runId: string; columns: string[] };
    const { header, rows } = await readSnapshot(stack.store, 'tasks');
    const { runId } = await readPointer(stack.store, 'tasks');
    expect(printed).toMatchObject({ resource: 'tasks', runId, columns: header });
    expect(printed.rows.map((row) => ({ ...row }))).toEqual(rows.map((row) => ({ ...row })));
    expect(rows.some((row) => row.title === '') && rows.some((row) => row.title === null)).toBe(true);
  });

  it('cat --dt: prints the day; a resource without rows is a header', async () => {
    const { date, runId } = runs[1]!;
    const printed = await inFolder('cat', 'tasks', '--dt', date, '--json', '--limit', '1');
    expect(JSON.parse(printed.stdout)).toMatchObject({ runId });
    expect((await inFolder('cat', 'members')).stdout).toBe(`${[...META_COLUMNS, 'id'].join(',')}\n`);
    expect(JSON.parse((await inFolder('cat', 'members', '--json')).stdout)).toMatchObject({ rows: [] });
    const forExcel = await inFolder('cat', 'members', '--csv-excel', '--delimiter', ';');
    expect(forExcel.stdout).toBe(`\ufeff${[...META_COLUMNS, 'id'].join(';')}\n`);
  });

  it('cat: exits with 0 and no message when its reader closes the pipe', async () => {
    const args = [CLI, 'cat', 'time-entries', '--limit', '0', '--config', stack.configFile];
    const child = spawn(process.execPath, args, { env: stack.env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [code, signal] = await once(child, 'close');
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  });
});
