import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { checkTable } from '../../../src/table/index.js';
import { CHECKPOINT_EVERY } from '../../../src/table/log/checkpoint.js';
import { type DuckDbDelta, deltaQuery, startDuckDbDelta } from '../../support/duckdb-delta.js';
import { expectTable } from '../../support/expect-table.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';

const OPTIONS = {
  simulator: { awkward: false, counts: { tasks: 60 } },
  resources: '[tasks]',
  yaml: '    sync: { overlap: 1s }\n    tables: { format: delta }\n',
} as const;

/** What a person or a lifecycle rule does to a lake. */
interface Damage {
  garbage(key: ObjectKey): Promise<unknown>;
  remove(...keys: ObjectKey[]): Promise<unknown>;
  /** Removes what begins with the prefix, but not some keys. */
  removeAll(prefix: string, but?: (key: string) => boolean): Promise<void>;
}

function damageTo(store: ObjectStore): Damage {
  return {
    garbage: (key) => store.write(key, Buffer.from('{"add":')),
    remove: (...keys) => store.remove(keys),
    async removeAll(prefix, but = () => false) {
      const keys: ObjectKey[] = [];
      for await (const { key } of store.list(prefix)) if (!but(key)) keys.push(key);
      await store.remove(keys);
    },
  };
}

/** What was lost, the runs before, and how. */
const LOSSES: readonly (readonly [
  what: string,
  nights: number,
  damage: (lake: Damage) => Promise<unknown>,
])[] = [
  ['the first commit', 3, ({ remove }) => remove(tableKeys('tasks').commit(0))],
  ['a commit in the middle', 4, ({ remove }) => remove(tableKeys('tasks').commit(2))],
  [
    'all early commits',
    4,
    ({ remove }) => remove(...[0, 1, 2].map((version) => tableKeys('tasks').commit(version))),
  ],
  [
    'everything before the newest commit',
    4,
    ({ removeAll }) => removeAll('tasks/table/', (key) => key.endsWith('3.json')),
  ],
  [
    'the commits up to the checkpoint, and the checkpoint',
    CHECKPOINT_EVERY + 2,
    ({ removeAll }) =>
      removeAll(
        'tasks/table/_delta_log/',
        (key) => key === tableKeys('tasks').lastCheckpoint || key.endsWith('11.json'),
      ),
  ],
  [
    'the whole log but the name of its checkpoint',
    CHECKPOINT_EVERY + 2,
    ({ removeAll }) =>
      removeAll('tasks/table/_delta_log/', (key) => key === tableKeys('tasks').lastCheckpoint),
  ],
  ['the content of a commit', 3, ({ garbage }) => garbage(tableKeys('tasks').commit(1))],
  [
    'the content of the checkpoint',
    CHECKPOINT_EVERY + 2,
    ({ garbage }) => garbage(tableKeys('tasks').checkpoint(CHECKPOINT_EVERY - 1)),
  ],
  [
    'the newest of two checkpoints',
    2 * CHECKPOINT_EVERY + 1,
    ({ remove }) => remove(tableKeys('tasks').checkpoint(2 * CHECKPOINT_EVERY - 1)),
  ],
  ['the whole table', 3, ({ removeAll }) => removeAll('tasks/table/')],
];

/** A lost commit and a lost checkpoint. */
const ALWAYS = ['all early commits', 'the content of the checkpoint'];

const isRepair = (warning: string): boolean => /^(?:table: )?.*was written again as version/.test(warning);

describe('a table that a lifecycle rule or a person has damaged', () => {
  let duckdb: DuckDbDelta;
  let mirror: InProcessMirror | undefined;
  beforeAll(async () => {
    duckdb = await startDuckDbDelta();
  });
  afterEach(async () => {
    await mirror?.close();
    mirror = undefined;
  });
  afterAll(() => duckdb?.close());

  // Without Temporal: the runs before the damage are most of the time.
  it.each(drawn(LOSSES, 1, ([what]) => ALWAYS.includes(what)))(
    'a table that lost %s is repaired by the next run, as verify promises',
    async (_, count, damage) => {
      mirror = await InProcessMirror.start({
        simulator: OPTIONS.simulator,
        resource: 'tasks',
        yaml: '{ name: tasks }',
        connection: OPTIONS.yaml,
      });
      const { store, folder, simulator } = mirror;
      const lake = { store, lakeFolder: join(folder, 'lake'), servers: inject('servers') };
      const configFile = join(folder, 'worktrack.yaml');
      await writeFile(
        configFile,
        `connections: { acme: { baseUrl: "${simulator.url}", apiKey: { env: WORKTRACK_API_KEY }, lake: { url: "${pathToFileURL(lake.lakeFolder).href}" }, resources: [tasks], sync: { overlap: 1s }, tables: { format: delta } } }`,
      );
      const verify = () => runCommand({ folder, env: process.env }, ['verify', '--config', configFile]);
      const nights = async (number: number): Promise<void> => {
        for (let night = 0; night < number; night++) {
          simulator.admin.update('tasks', idOf(simulator.admin.records('tasks')[night]!), {
            title: `changed ${night}`,
          });
          await mirror!.run();
        }
      };
      await nights(count);
      await damage(damageTo(store));
      const damaged = await verify();
      expect(damaged.code, damaged.stderr).toBe(1);
      expect(damaged.stdout).toContain('To recover: the next export repairs the table: ');

      const warnings: string[] = [];
      await mirror.run({ tableWarnings: warnings });
      expect(warnings.filter((warning) => !isRepair(warning))).toEqual([]);
      expect(await checkTable(store, 'tasks')).toEqual([]);
      expect((await verify()).code).toBe(0);
      const rowsOf = () => duckdb.rows(deltaQuery(`${lake.lakeFolder}/tasks/table`));
      await expectTable(lake, 'tasks', { rowsOf });

      // Later runs find nothing to repair: a warning would fail them.
      await nights(2);
      await expectTable(lake, 'tasks', { rowsOf });
    },
  );
});

describe('a damaged table of a mirror', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const command = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const start = async (): Promise<Damage> => {
    stack = await startStack(OPTIONS);
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    return damageTo(stack.store);
  };

  it('is repaired by the next export, with a warning, and not again', async () => {
    const { remove } = await start();
    await remove(tableKeys('tasks').commit(0));
    expect((await command('verify')).code).toBe(1);
    const { outcome, runs } = await stack.export();
    expect(outcome).toBe('published');
    expect(
      runs[0]!.warnings.filter((warning) => !/^table: .*was written again as version/.test(warning)),
    ).toEqual([]);
    expect((await command('verify')).code).toBe(0);
    expect((await stack.export()).runs[0]!.warnings).toEqual([]);
    await expectTable(stack, 'tasks');
  });

  it('a table that a person has upgraded is not written to, and verify says that the folder must be removed', async () => {
    const { remove, removeAll } = await start();
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

/** What is removed of the first two runs, and how verify names it. */
const MISSING = [
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
] as const;

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

  it.each(drawn(MISSING, 1))(
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
      const whole = await command('ddl', '--newest');
      expect(whole.stdout).toContain('tasks_newest');
      expect((await command('verify')).code).toBe(0);

      const isDamaged = damage(runIds[0]!, runIds[1]!);
      await stack.store.remove((await logsOf()).filter(isDamaged));
      const verified = await command('verify');
      expect(verified.code).toBe(1);
      expect(verified.stdout).toMatch(named);
      expect(verified.stdout).toContain('the views tasks_changes and tasks_newest lack rows');
      const ddl = await command('ddl', '--newest');
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
