import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assertRowEquals } from '../../support/oracle.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries', 'members'];

describe('an export', { shuffle: false }, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      simulator: {
        seed: 7,
        counts: { projects: 40, tasks: 300, 'time-entries': 2500, 'calendar-entries': 150, members: 0 },
      },
    });
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  function assertEqualToService(rows: Record<string, string | null>[], resource: string): void {
    const records = stack.simulator.admin.records(resource, 'listed');
    expect(rows.length).toBe(records.length);
    const keyOf = (row: Record<string, unknown>): string =>
      resource === 'calendar-entries' ? `${row.source}\0${row.sourceKey}` : String(row.id);
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    expect(byKey.size).toBe(rows.length);
    for (const record of records) {
      const row = byKey.get(keyOf(JSON.parse(record)));
      if (row === undefined) throw new Error(`not in the snapshot: ${record}`);
      assertRowEquals(row, record);
    }
  }

  it('publishes every resource, equal to the service value for value', async () => {
    const result = await stack.export();
    expect(result.outcome).toBe('published');
    expect(result.runs.map((run) => run.resource)).toEqual(RESOURCES);
    for (const resource of RESOURCES) {
      assertEqualToService((await readSnapshot(stack.store, resource)).rows, resource);
    }
  });

  it('writes only a header for an empty resource', async () => {
    const { header, rows } = await readSnapshot(stack.store, 'members');
    expect(header).toEqual(['_run_id', '_synced_at', '_deleted_at', 'id']);
    expect(rows).toEqual([]);
  });

  it('puts the key after the system columns in the header', async () => {
    const { header } = await readSnapshot(stack.store, 'calendar-entries');
    expect(header.slice(0, 5)).toEqual(['_run_id', '_synced_at', '_deleted_at', 'source', 'sourceKey']);
  });

  it('merges the next increment into a complete snapshot', async () => {
    const before = await readPointer(stack.store, 'time-entries');
    const touched = stack.simulator.admin.touch('time-entries', { count: 5, pick: 'spread' });
    const result = await stack.export();
    const run = result.runs.find(({ resource }) => resource === 'time-entries')!;
    expect(run.counts).toMatchObject({ updated: 5, inserted: 0, rows: 2500 });
    assertEqualToService((await readSnapshot(stack.store, 'time-entries')).rows, 'time-entries');
    const pointer = await readPointer(stack.store, 'time-entries');
    expect(pointer.runId > before.runId).toBe(true);
    const changes = await readTree(stack.store, pointer.changes!);
    expect(changes.rows.map((row) => row.id).sort()).toEqual([...touched].sort());
  });

  it('carries over unchanged parts byte for byte', async () => {
    const before = await readPointer(stack.store, 'tasks');
    await stack.export({ resources: ['tasks'] });
    const after = await readPointer(stack.store, 'tasks');
    expect(after.runId).not.toBe(before.runId);
    const old = await readTree(stack.store, before.snapshot);
    expect(await readTree(stack.store, after.snapshot)).toEqual(old);
    expect((await readTree(stack.store, after.changes!)).rows).toEqual([]);
  });

  it('keeps rows unchanged that a full reread finds equal', async () => {
    const before = await readSnapshot(stack.store, 'projects');
    const result = await stack.export({ resources: ['projects'], full: true });
    expect(result.runs[0]!.counts).toMatchObject({ unchanged: 40, inserted: 0, updated: 0 });
    expect((await readSnapshot(stack.store, 'projects')).rows).toEqual(before.rows);
  });

  it('leaves no staged objects', async () => {
    const keys: string[] = [];
    for await (const { key } of stack.store.list('_staging/')) keys.push(key);
    expect(keys).toEqual([]);
  });
});

describe('a failure of one resource', () => {
  it('names the resource whose path does not exist, and publishes the others', async () => {
    const stack = await startStack({
      s3: true,
      simulator: { counts: { projects: 3 } },
      resources: '[projects, { name: invoices, path: invoices }]',
    });
    try {
      await stack.startWorker();
      const result = await stack.export();
      expect(result.outcome).toBe('failed');
      expect(result.runs.map((run) => [run.resource, run.outcome])).toEqual([
        ['projects', 'published'],
        ['invoices', 'failed'],
      ]);
      expect(result.runs[1]!.error!.message).toContain('no list at "invoices"');
      expect((await readSnapshot(stack.store, 'projects')).rows.length).toBe(3);
    } finally {
      await stack.stop();
    }
  });
});
