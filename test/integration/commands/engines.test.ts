import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { DELTA_RS, DUCKDB_NEWEST, DUCKDB_OLDEST } from '../../engines/engines.js';
import { LAKES, type RecordedLakes, recordLakes } from '../../engines/lakes.js';
import { readLakes } from '../../engines/read-lakes.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';

/** A part of `npm run test:engines`: a lake in S3 or one in a folder, through all five steps. */
const SOME = drawn(
  LAKES.filter(({ resource }) => ['s3-gzip', 'folder-flatten'].includes(resource)),
  1,
);
const WITH_INSTALLATION_MS = 15 * 60_000;

describe('The printed statements and the Delta tables of a lake, through five steps', () => {
  let recorded: RecordedLakes;
  beforeAll(async () => {
    recorded = await recordLakes(SOME, 60);
  });
  afterAll(() => recorded?.remove());

  it.each([DUCKDB_OLDEST, DUCKDB_NEWEST, DELTA_RS])(
    'show every cell in $title',
    { timeout: WITH_INSTALLATION_MS },
    async (engine) => {
      const { csv, delta } = await readLakes(engine, recorded.lakes, inject('servers'));
      expect([...csv.different, ...delta.different].slice(0, 10)).toEqual([]);
      expect(csv.documented + delta.documented + csv.refused.length + delta.refused.length).toBe(0);
      expect(delta.compared).toBeGreaterThan(5_000 * SOME.length);
      expect(csv.compared).toBeGreaterThan(engine.reads.includes('csv') ? 15_000 * SOME.length : -1);
    },
  );
});

describe('ddl --delta', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkwardEvery: 2, counts: { tasks: 60, projects: 5 } },
      resources: '[tasks, projects, members]',
      yaml: '    tables: { format: delta }\n',
    });
    await stack.startWorker();
    expect((await stack.export({ resources: ['tasks', 'projects'] })).outcome).toBe('published');
  });
  afterAll(() => stack?.stop());

  const ddl = (...args: string[]) =>
    runCommand(stack, ['ddl', '--delta', '--config', stack.configFile, ...args]);

  it('prints one statement for each table, the aliases of its columns, and no credentials', async () => {
    const { code, stdout, stderr } = await ddl('--dialect', 'trino');
    expect(code).toBe(0);
    expect(stdout.match(/^CALL system\.register_table/gm)).toHaveLength(2);
    const { url } = stack.settings.connections[0]!.lake;
    expect(stdout).toContain(`table_location => '${url}/tasks/table'`);
    expect(stdout).toContain('-- Column "name, with comma" has the name name__with_comma here.');
    expect(stderr).toContain('Skipped: members, which has no Delta table yet');
    const { stdout: script } = await ddl('--dialect', 'duckdb', '--resource', 'tasks');
    expect(script).toContain('CREATE OR REPLACE MACRO "tasks"() AS TABLE');
    expect(stdout + stderr + script).not.toContain(stack.servers.s3SecretAccessKey);
  });

  it('exits with 2 for a resource without a table, and for an engine that cannot read the lake', async () => {
    expect(await ddl('--resource', 'members')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('members: no Delta table in s3://'),
    });
    expect(await ddl('--dialect', 'snowflake')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Snowflake reads tables only from Amazon S3'),
    });
  });
});
