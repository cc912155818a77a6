import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { checkTable } from '../../../src/table/index.js';
import { CHECKPOINT_EVERY } from '../../../src/table/log/checkpoint.js';
import { tableKeys } from '../../../src/table/log/paths.js';
import { type DuckDbDelta, deltaQuery, startDuckDbDelta } from '../../support/duckdb-delta.js';
import { expectTable } from '../../support/expect-table.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';

const OPTIONS = {
  simulator: { awkward: false, counts: { tasks: 60 } },
  resources: '[tasks]',
  yaml: '    sync: { overlap: 1s }\n    tables: { format: delta }\n',
} as const;

describe('a table that a lifecycle rule or a person has damaged', () => {
  let stack: Stack;
  let duckdb: DuckDbDelta;
  beforeAll(async () => {
    duckdb = await startDuckDbDelta();
  });
  afterEach(() => stack?.stop());
  afterAll(() => duckdb?.close());

  const command = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const garbage = (key: ObjectKey) => stack.store.write(key, Buffer.from('{"add":'));
  const remove = (...keys: ObjectKey[]) => stack.store.remove(keys);
  const removeAll = async (prefix: string, but = (_: string) => false) => {
    const keys: ObjectKey[] = [];
    for await (const { key } of stack.store.list(prefix)) if (!but(key)) keys.push(key);
    await stack.store.remove(keys);
  };
  const nights = async (count: number) => {
    const { admin } = stack.simulator;
    for (let night = 0; night < count; night++) {
      admin.update('tasks', idOf(admin.records('tasks')[night]!), { title: `changed ${night}` });
      const { outcome, runs } = await stack.export();
      expect(outcome, JSON.stringify(runs)).toBe('published');
    }
  };

  it.each([
    ['the first commit', 3, () => remove(tableKeys('tasks').commit(0))],
    ['a commit in the middle', 4, () => remove(tableKeys('tasks').commit(2))],
    ['all early commits', 4, () => remove(...[0, 1, 2].map((version) => tableKeys('tasks').commit(version)))],
    [
      'everything before the newest commit',
      4,
      () => removeAll('tasks/table/', (key) => key.endsWith('3.json')),
    ],
    [
      'the commits up to the checkpoint, and the checkpoint',
      CHECKPOINT_EVERY + 2,
      () =>
        removeAll(
          'tasks/table/_delta_log/',
          (key) => key === tableKeys('tasks').lastCheckpoint || key.endsWith('11.json'),
        ),
    ],
    [
      'the whole log but the name of its checkpoint',
      CHECKPOINT_EVERY + 2,
      () => removeAll('tasks/table/_delta_log/', (key) => key === tableKeys('tasks').lastCheckpoint),
    ],
    ['the content of a commit', 3, () => garbage(tableKeys('tasks').commit(1))],
    [
      'the content of the checkpoint',
      CHECKPOINT_EVERY + 2,
      () => garbage(tableKeys('tasks').checkpoint(CHECKPOINT_EVERY - 1)),
    ],
    [
      'the newest of two checkpoints',
      2 * CHECKPOINT_EVERY + 1,
      () => remove(tableKeys('tasks').checkpoint(2 * CHECKPOINT_EVERY - 1)),
    ],
    ['the whole table', 3, () => removeAll('tasks/table/')],
  ] as const)(
    'a table that lost %s is repaired by the next export, as verify promises',
    async (_, count, damage) => {
      stack = await startStack(OPTIONS);
      await stack.startWorker();
      await nights(count);
      await damage();
      const damaged = await command('verify');
      expect(damaged.code).toBe(1);
      expect(damaged.stdout).toContain('To recover: the next export repairs the table: ');

      const { outcome, runs } = await stack.export();
      expect(outcome).toBe('published');
      expect(await checkTable(stack.store, 'tasks')).toEqual([]);
      expect((await command('verify')).code).toBe(0);
      const rowsOf = () => duckdb.rows(deltaQuery(`${stack.lakeFolder}/tasks/table`));
      await expectTable(stack, 'tasks', { rowsOf });
      expect(
        runs[0]!.warnings.filter((warning) => !/^table: .*was written again as version/.test(warning)),
      ).toEqual([]);

      // Later runs find nothing to repair.
      await nights(2);
      const later = await stack.export();
      expect(later.runs[0]!.warnings).toEqual([]);
      await expectTable(stack, 'tasks', { rowsOf });
    },
  );

  it('a table that a person has upgraded is not written to, and verify says that the folder must be removed', async () => {
    stack = await startStack(OPTIONS);
    await stack.startWorker();
    await nights(1);
    const upgrade = JSON.stringify({ protocol: { minReaderVersion: 3, minWriterVersion: 7 } });
    await stack.store.write(tableKeys('tasks').commit(1), Buffer.from(upgrade));
    await remove(tableKeys('tasks').commit(0));
    await stack.export();
    const { code, stdout } = await command('verify');
    expect(code).toBe(1);
    expect(stdout).toContain('was upgraded by another program to writer version 7');
    expect(stdout).toContain('remove the folder tasks/table/');
    expect(stdout).not.toMatch(/next export repairs the table/i);
    await removeAll('tasks/table/');
    await stack.export();
    expect((await command('verify')).code).toBe(0);
  });
});

describe('change logs that are missing', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const command = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const logsOf = async (): Promise<ObjectKey[]> => {
    const keys: ObjectKey[] = [];
    for await (const { key } of stack.store.list('tasks/changes/')) keys.push(key);
    return keys;
  };

  it.each([
    [
      'of the first run',
      (runId: string, _: string) => (key: string) => key.includes(runId),
      /with it the change log of run/,
    ],
    [
      'of a run in the middle',
      (_: string, runId: string) => (key: string) => key.includes(runId),
      /with it the change log of run/,
    ],
    [
      'in parts only',
      (runId: string, _: string) => (key: string) => key.includes(runId) && /\/part-/.test(key),
      /is missing: the change log of run .* lacks rows/,
    ],
  ] as const)(
    '%s are named by verify and ddl, and the view of the newest rows is left out',
    async (_, damage, named) => {
      stack = await startStack({ simulator: { counts: { tasks: 40 } }, resources: '[tasks]' });
      await stack.startWorker();
      const { admin } = stack.simulator;
      const runIds: string[] = [];
      for (let run = 0; run < 3; run++) {
        admin.update('tasks', idOf(admin.records('tasks')[run]!), { title: `changed ${run}` });
        runIds.push((await stack.export()).runs[0]!.runId!);
      }
      const whole = await command('ddl', '--dialect', 'duckdb');
      expect(whole.stdout).toContain('tasks_newest');
      expect((await command('verify')).code).toBe(0);

      const isDamaged = damage(runIds[0]!, runIds[1]!);
      await stack.store.remove((await logsOf()).filter(isDamaged));
      const verified = await command('verify');
      expect(verified.code).toBe(1);
      expect(verified.stdout).toMatch(named);
      expect(verified.stdout).toContain('the views tasks_changes and tasks_newest lack rows');
      const ddl = await command('ddl', '--dialect', 'duckdb');
      expect(ddl.code).toBe(0);
      expect(ddl.stdout).toContain('tasks_changes');
      expect(ddl.stdout).not.toContain('tasks_newest');
      expect(ddl.stderr).toMatch(/change logs are missing/);
      expect(ddl.stderr).toMatch(/left out the view that ends in _newest/);
      // The snapshot does not need them.
      expect((await stack.export()).outcome).toBe('published');
    },
  );
});
