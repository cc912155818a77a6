import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { haveSameRequest } from '../../../src/core/run-id.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { assertRowEquals } from '../../support/oracle.js';
import { isStaged, readSnapshot } from '../../support/snapshot.js';

const MIB = 1024 * 1024;

describe('a run that leaves the memory', () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  async function start(connection: string): Promise<InProcessMirror> {
    mirror = await InProcessMirror.start({
      simulator: { awkward: false, counts: { tasks: 0 } },
      resource: 'tasks',
      yaml: '{ name: tasks, fetchById: true }',
      connection: `    sync: { overlap: 1m, ${connection} }\n`,
    });
    return mirror;
  }

  async function expectService({ store, simulator }: InProcessMirror): Promise<readonly string[]> {
    const records = new Map(simulator.admin.records('tasks').map((text) => [idOf(text), text]));
    const { rows } = await readSnapshot(store, 'tasks');
    expect(rows.map(({ id }) => id).sort()).toEqual([...records.keys()].sort());
    for (const row of rows) assertRowEquals(row, records.get(row.id!)!);
    return rows.map((row) => row._run_id!);
  }

  it.each([
    ['more than 8 MiB', 'pageSize: 2', 12, MIB],
    ['a first page of more than 8 MiB', 'pageSize: 100', 12, MIB],
  ])('publishes every row under the run id of the lake: %s', async (_, connection, records, size) => {
    const { simulator, store } = await start(connection);
    for (let n = 0; n < records; n++)
      simulator.admin.create('tasks', {
        name: `task ${n}`,
        note: randomBytes((size * 3) / 4).toString('base64'),
      });
    const first = await mirror!.run();
    expect(first.inMemory).toBe(false);
    expect(new Set(await expectService(mirror!))).toEqual(new Set([first.runId]));
    const staged: string[] = [];
    for await (const { key } of store.list('_staging/')) if (isStaged(key)) staged.push(key);
    expect(staged.some((key) => key.includes(first.runId))).toBe(true);
    // The next run fits again.
    simulator.admin.touch('tasks', { count: 1, pick: 'spread' });
    mirror!.clock += 60_000;
    const second = await mirror!.run();
    expect(second.counts).toMatchObject({ updated: 1, rows: records });
    expect(haveSameRequest(second.runId, first.runId)).toBe(false);
    await expectService(mirror!);
  });

  it('spills when the service lets it wait, and keeps what it has read', async () => {
    const { simulator } = await start('pageSize: 3');
    for (let n = 0; n < 10; n++) simulator.admin.create('tasks', { name: `task ${n}` });
    simulator.admin.faults.add({
      match: { resource: 'tasks', page: 2 },
      remaining: 1,
      fault: { kind: 'status', status: 429, retryAfter: 6 },
    });
    const { inMemory, counts, runId } = await mirror!.run();
    expect({ inMemory, rows: counts.rows, fetched: counts.fetched }).toEqual({
      ...{ inMemory: false, rows: 10, fetched: 10 },
    });
    expect(new Set(await expectService(mirror!))).toEqual(new Set([runId]));
  });

  it('spills before it asks for many records by id', async () => {
    const { simulator } = await start('pageSize: 100');
    const ids = Array.from({ length: 60 }, (_, n) => simulator.admin.create('tasks', { name: `task ${n}` }));
    await mirror!.run();
    for (const [removed, inMemory] of [
      [ids.slice(0, 5), true],
      [ids.slice(5, 30), false],
    ] as const) {
      simulator.admin.remove('tasks', [...removed]);
      mirror!.clock += 60_000;
      const run = await mirror!.run({ allowDeletes: true });
      expect(run.counts.deleted).toBe(removed.length);
      expect(run.inMemory).toBe(inMemory);
    }
  });

  it('is in memory in a rollback and in the full read after it', async () => {
    const { simulator } = await start('pageSize: 100');
    const id = simulator.admin.create('tasks', { name: 'before' });
    const { runId: first } = await mirror!.run();
    simulator.admin.update('tasks', id, { name: 'after' });
    mirror!.clock += 60_000;
    expect((await mirror!.run()).counts.updated).toBe(1);
    const back = await mirror!.rollBack(first);
    expect(back.inMemory).toBe(true);
    expect((await readSnapshot(mirror!.store, 'tasks')).rows[0]!.name).toBe('before');
    mirror!.clock += 60_000;
    expect((await mirror!.run()).inMemory).toBe(true);
    await expectService(mirror!);
  });
});
