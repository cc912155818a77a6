import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { checkTable } from '../../../src/table/index.js';
import { startPurge, startRollback } from '../../../src/temporal/client/start.js';
import { expectTable, readTableOf } from '../../support/expect-table.js';
import { resultOf, type Stack, startStack } from '../../support/stack.js';

const ROWS = 3000;
/** Such rows have several parts. */
const DELTA = '    tables: { format: delta }\n    csv: { partSize: 64KiB }\n    sync: { overlap: 1s }\n';

describe('a Delta table', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const files = async (resource: string) =>
    (await readdir(join(stack.lakeFolder, resource, 'table'))).filter((name) => name.endsWith('.parquet'));
  const wait = (id: string) => stack.temporal.client.workflow.getHandle(id).result().catch(resultOf);
  const rollBack = async (resource: string, to: RunId) => {
    const { taskQueue, temporal, connection } = stack;
    return wait(await startRollback(temporal, { connection, resource, to }, { taskQueue }));
  };
  const purge = async (resource: string, key: readonly string[]) => {
    const { taskQueue, temporal, connection } = stack;
    return wait(await startPurge(temporal, { connection, resource, key }, { taskQueue }));
  };

  it('has every value of the snapshots of all resources, awkward ones included, and types where they are exact', async () => {
    stack = await startStack({ simulator: { counts: { tasks: 150, 'time-entries': 600 } }, yaml: DELTA });
    await stack.startWorker();
    const exported = await stack.export();
    expect(exported.runs.map(({ outcome }) => outcome)).toEqual(Array(5).fill('published'));
    expect(
      exported.runs.flatMap(({ warnings }) => warnings.filter((text) => text.startsWith('table'))),
    ).toEqual([]);
    const records = (resource: string) => stack.simulator.admin.records(resource, 'listed');
    const { table, cells } = await expectTable(stack, 'time-entries', { records: records('time-entries') });
    expect(cells).toBeGreaterThan(5000);
    expect(table.types).toMatchObject({
      ...{ _run_id: 'string', _synced_at: 'timestamp', id: 'string', durationSeconds: 'long' },
      ...{ name__with_comma: 'long', unnamed: 'string', Status: 'string', status_2: 'string' },
      ...{
        billable: 'boolean',
        hourlyRate: 'decimal(18,2)',
        startedAt: 'timestamp',
        externalNumber: 'string',
      },
    });
    for (const resource of ['projects', 'tasks', 'calendar-entries', 'members'])
      await expectTable(stack, resource, { records: records(resource) });
    for (const resource of ['projects', 'tasks']) expect(await checkTable(stack.store, resource)).toEqual([]);
  });

  it('follows increments, new columns, deletes and rollbacks, and keeps the files of unchanged parts', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: ROWS } },
      resources: '[tasks]',
      yaml: DELTA,
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const first = await stack.export();
    const { table } = await expectTable(stack, 'tasks');
    expect(table).toMatchObject({ version: 0, types: { _synced_at: 'timestamp', id: 'string' } });
    expect(table.files.length).toBeGreaterThan(4);

    admin.update('tasks', table.rows[10]!.id!, { title: 'changed' });
    await stack.export();
    const second = (await expectTable(stack, 'tasks')).table;
    expect(second.version).toBe(1);
    expect(second.files.filter((file) => !table.files.includes(file)).length).toBe(1);

    admin.addField('tasks', 'budget', '12.50', { count: 3, pick: 'newest' });
    await stack.export();
    expect((await expectTable(stack, 'tasks')).table.types.budget).toBe('decimal(18,2)');
    admin.update('tasks', table.rows[20]!.id!, { budget: 'unknown' });
    await stack.export();
    expect((await expectTable(stack, 'tasks')).table.types.budget).toBe('string');

    await rollBack('tasks', first.runs[0]!.runId!);
    const back = (await expectTable(stack, 'tasks')).table;
    expect(back.version).toBe(4);
    expect(back.rows.length).toBe(ROWS);
    await stack.export();
    expect((await expectTable(stack, 'tasks')).table.version).toBe(5);
    expect((await readTableOf(stack, 'tasks', 1)).rows.length).toBe(ROWS);
    expect(await checkTable(stack.store, 'tasks')).toEqual([]);
  });

  it('has a purged record in none of its files', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: 300 } },
      resources: '[tasks]',
      yaml: DELTA,
    });
    await stack.startWorker();
    await stack.export();
    const { table } = await expectTable(stack, 'tasks');
    const { id } = table.rows[7]!;
    stack.simulator.admin.update('tasks', id!, { title: 'to be forgotten' });
    await stack.export();
    expect((await readTableOf(stack, 'tasks')).rows.some(({ title }) => title === 'to be forgotten')).toBe(
      true,
    );
    stack.simulator.admin.remove('tasks', [id!]);
    await purge('tasks', [id!]);
    const after = (await expectTable(stack, 'tasks')).table;
    expect(after.rows.length).toBe(299);
    expect(await files('tasks')).toEqual(after.files);
    await expect(readTableOf(stack, 'tasks', 1)).rejects.toThrow(/delta-rs cannot read/);
    await stack.export();
    expect((await expectTable(stack, 'tasks')).table.version).toBe(after.version + 1);
  });
});
