import { appendFile, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { startRollback } from '../../../src/temporal/client/start.js';
import { checkAthena, compareHistories, type Dbt, installDbt, type RunSnapshot } from '../../support/dbt.js';
import { writeFolderConfig } from '../../support/folder-config.js';
import { reconcile } from '../../support/mirror-requests.js';
import { runCommand } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const MINUTES = 60_000;
const RESOURCES = ['projects', 'tasks', 'dropped', 'calendar-entries'];
const KEYS: Readonly<Record<string, readonly string[]>> = { 'calendar-entries': ['source', 'sourceKey'] };

describe('worktrack dbt', { shuffle: false }, () => {
  let stack: Stack;
  let dbt: Dbt;
  let config: string;
  let project: string;
  /** The connection, as it is in the names of models. */
  let owner: string;
  /** The snapshots of the published runs of each resource, oldest first. */
  const runs = new Map<string, RunSnapshot[]>(RESOURCES.map((name) => [name, []]));

  const write = (...args: string[]) =>
    runCommand(stack, ['dbt', '--config', config, '--dir', project, ...args]);

  /** Remembers what the last run of each resource published. */
  async function remember(resources: readonly string[] = RESOURCES): Promise<void> {
    for (const resource of resources) {
      const { runId } = await readPointer(stack.store, resource);
      const { header, rows } = await readSnapshot(stack.store, resource);
      const cells = rows.map((row) => header.map((name) => row[name] ?? null));
      runs.get(resource)!.push({ runId, header, rows: cells });
    }
  }

  async function publish(): Promise<void> {
    const result = await stack.export();
    expect(result.outcome, JSON.stringify(result.runs.map(({ error }) => error))).toBe('published');
  }

  /** Runs dbt, which prints why it fails. */
  async function run(...commands: string[]): Promise<string> {
    const { code, output } = await dbt.run(project, commands);
    expect(code, output.slice(-6000)).toBe(0);
    return output;
  }

  /** @param columns `first`: only those that the first run knew */
  async function expectHistories(columns: 'first' | 'all'): Promise<void> {
    const histories = RESOURCES.map((resource) => {
      const all = runs.get(resource)!;
      const width = columns === 'first' ? all[0]!.header.length : undefined;
      return {
        database: join(project, `worktrack_${owner}.duckdb`),
        model: `${owner}__${resource.replace('-', '_')}_history`,
        key: KEYS[resource] ?? ['id'],
        dropsDeleted: resource === 'dropped',
        runs: all.map(({ runId, header, rows }) => ({
          runId,
          header: header.slice(0, width),
          rows: rows.map((row) => row.slice(0, width)),
        })),
      };
    });
    for (const [at, compared] of (await compareHistories(dbt, histories)).entries()) {
      const resource = RESOURCES[at]!;
      for (const { runId, rows, cells, different } of compared)
        console.log(
          `${resource} as of ${runId}: ${rows} rows, ${cells} cells, ${different.length} different`,
        );
      expect(
        compared.map(({ runId, different }) => [runId, different]),
        resource,
      ).toEqual(runs.get(resource)!.map(({ runId }) => [runId, []]));
    }
  }

  beforeAll(async () => {
    stack = await startStack({
      // The name that `worktrack init` gives a connection.
      connection: 'main',
      simulator: {
        seed: 33,
        awkwardEvery: 4,
        counts: { projects: 20, tasks: 160, 'calendar-entries': 60 },
      },
      resources: `[{ name: projects, checks: [
          { rows: { min: 1 } }, { notNull: [id, createdAt] }, { unique: [id, createdAt], onFail: warn },
          { oneOf: { archived: [true, false] }, onFail: warn }, { range: { budgetHours: { min: 0, max: 100000 } }, onFail: warn },
          { newest: { field: updatedAt, maxAge: 3650d } }, { change: { max: 20% } } ] }, tasks, { name: dropped, path: tasks, deletes: drop },
        { name: calendar-entries, window: 90d, key: [source, sourceKey] }]`,
    });
    config = await writeFolderConfig(stack);
    project = join(stack.folder, 'analytics');
    owner = stack.connection.replace('-', '_');
    dbt = await installDbt('duckdb', await mkdtemp(join(stack.folder, 'home-')));
    await stack.startWorker();
    await publish();
    await remember();
  }, 20 * MINUTES);
  afterAll(() => stack?.stop());

  it(
    'writes a project that stays current through new columns, deletes and a rollback',
    async () => {
      const first = await write();
      expect(first.code, first.stderr).toBe(0);
      const { admin } = stack.simulator;
      admin.touch('tasks', { count: 7, pick: 'spread' });
      admin.addField('tasks', 'dueAt', '"2026-11-21T02:00:00.123+01:00"', { count: 5, pick: 'spread' });
      admin.addField('projects', 'ledger', '123456789012345678901234567890', { count: 2, pick: 'newest' });
      await publish();
      await remember();

      // A run that a rollback takes back. Both stay in the history.
      const ids = admin.records('tasks', 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
      admin.remove('tasks', ids.slice(3, 8));
      admin.touch('tasks', { count: 9, pick: 'spread' });
      for (const resource of ['tasks', 'dropped'])
        expect((await reconcile(stack, resource)).counts?.deleted, resource).toBe(5);
      await remember(['tasks', 'dropped']);
      const { taskQueue, temporal, connection } = stack;
      for (const resource of ['tasks', 'dropped']) {
        const to = runs.get(resource)!.at(-2)!.runId as RunId;
        const id = await startRollback(temporal, { connection, resource, to }, { taskQueue });
        await temporal.client.workflow.getHandle(id).result();
      }
      await remember(['tasks', 'dropped']);

      // The project of the first run does not know the new columns.
      await run('build');
      await expectHistories('first');

      // The deletes are found again, after the full read that follows the rollback.
      await publish();
      await remember();
      for (const resource of ['tasks', 'dropped'])
        expect((await reconcile(stack, resource)).counts?.deleted, resource).toBe(5);
      await remember(['tasks', 'dropped']);
      admin.touch('tasks', { count: 3, pick: 'newest' });
      await publish();
      await remember();
    },
    15 * MINUTES,
  );

  // test/unit/cli/dbt-project.test.ts updates the files, and the test above builds the same models.
  longOnly(
    'updates its files, keeps those of the user, and shows each past run as it was',
    async () => {
      const changed = join(project, `models/worktrack/staging/stg_${owner}__projects.sql`);
      await appendFile(changed, '-- mine\n');
      await writeFile(
        join(project, 'models/mine.sql'),
        `SELECT count(*) AS n FROM {{ ref('stg_${owner}__tasks') }}\n`,
      );
      const again = await write();
      expect(again.code, again.stderr).toBe(0);
      expect(again.stderr).toContain(
        `Kept models/worktrack/staging/stg_${owner}__projects.sql: you changed it`,
      );
      expect(await readFile(changed, 'utf8')).toMatch(/-- mine\n$/);
      expect(await readFile(join(project, 'models/mine.sql'), 'utf8')).toContain('count(*)');
      expect((await write()).stdout).not.toContain('updated');

      const built = await run('build', 'source freshness');
      expect(built).toContain('ERROR=0');
      expect(built).toContain(`PASS freshness of ${owner}.tasks_changes_text`);
      await expectHistories('all');
      const staging = await dbt.python([
        '-c',
        `import duckdb; print(duckdb.connect(r'${join(project, `worktrack_${owner}.duckdb`)}').execute('SELECT (SELECT count(*) FROM stg_${owner}__tasks), (SELECT n FROM mine), (SELECT count(*) FROM stg_${owner}__dropped)').fetchone())`,
      ]);
      const rows = (resource: string) => runs.get(resource)!.at(-1)!.rows.length;
      expect(staging.trim()).toBe(`(${rows('tasks')}, ${rows('tasks')}, ${rows('dropped')})`);
      expect(rows('dropped')).toBeLessThan(rows('tasks'));
    },
    15 * MINUTES,
  );

  it('refuses a folder with the project of another adapter, and Athena for a lake in a folder', async () => {
    expect(await write('--adapter', 'athena')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Choose another folder with --dir'),
    });
    const folder = await runCommand(stack, ['dbt', '--config', config, '--dir', 'a', '--adapter', 'athena']);
    expect(folder).toMatchObject({ code: 2, stderr: expect.stringContaining('Use --adapter duckdb.') });
  });
});

describe('worktrack dbt --adapter athena', () => {
  let stack: Stack;
  afterAll(() => stack?.stop());

  // The tests above run the same models with dbt; test/unit/lake/dbt/project.test.ts has the files for Athena.
  longOnly(
    'writes a project that dbt compiles to valid SQL, and that creates its sources as ddl prints them',
    async () => {
      stack = await startStack({
        simulator: { seed: 34, awkwardEvery: 4, counts: { projects: 10, tasks: 60, members: 5 } },
        resources: '[projects, tasks, { name: members, csv: { lineBreaks: keep } }]',
        yaml: '    csv: { lineBreaks: escape }\n',
      });
      await stack.startWorker();
      stack.simulator.admin.create('members', { name: 'two\nlines' });
      expect((await stack.export()).outcome).toBe('published');
      const inS3 = (...args: string[]) => runCommand(stack, [...args, '--config', stack.configFile]);
      const written = await inS3('dbt', '--adapter', 'athena', '--dir', 'warehouse');
      expect(written.code, written.stderr).toBe(0);
      expect(written.stderr).toMatch(/Skipped: members: its change logs have [1-9]\d* line break/);

      const dbt = await installDbt('athena', await mkdtemp(join(stack.folder, 'home-')));
      const { compiled, sent } = await checkAthena(dbt, join(stack.folder, 'warehouse'));
      // Two models and the test of types for each of the two resources, and the tests of keys and relations.
      expect(compiled).toBeGreaterThan(10);
      expect(sent.length).toBe(10);
      const { stdout } = await inS3(
        'ddl',
        '--text',
        '--dialect',
        'athena',
        '--resource',
        'projects',
        '--resource',
        'tasks',
      );
      for (const statement of sent) expect(stdout).toContain(statement.replace(/^-- .*\n/, ''));
    },
    15 * MINUTES,
  );
});
