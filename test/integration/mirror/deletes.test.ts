import { afterEach, describe, expect, it } from 'vitest';
import type { RunReport, RunRequest } from '../../../src/core/contract/index.js';
import { reconcile as askToReconcile } from '../../support/mirror-requests.js';
import { longOnly } from '../../support/seeds.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

describe('a reconciliation', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  async function started(resource: string, count: number, yaml = ''): Promise<void> {
    stack = await startStack({
      s3: true,
      simulator: { seed: 9, awkward: false, counts: { [resource]: count } },
      resources: `[${resource}]`,
      yaml: `    sync: { pageSize: 50 }\n${yaml}`,
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
  }

  const reconcile = (resource: string, wish: Partial<RunRequest> = {}): Promise<RunReport> =>
    askToReconcile(stack, resource, wish);
  const ids = (resource: string) =>
    stack.simulator.admin.records(resource, 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
  const requests = (route: string) => stack.simulator.admin.stats().byRoute[route] ?? 0;

  it('marks a record that is absent from two passes, keeps its row, and clears the mark when the record reappears', async () => {
    await started('tasks', 120);
    const [gone] = ids('tasks').slice(50);
    const [record] = stack.simulator.admin.records('tasks').filter((text) => text.includes(gone!));
    stack.simulator.admin.remove('tasks', [gone!]);
    expect((await stack.export({ full: true })).runs[0]!.counts).toMatchObject({ deleted: 0, rows: 120 });

    const report = await reconcile('tasks');
    expect(report).toMatchObject({ outcome: 'published', counts: { deleted: 1, rows: 120 } });
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(rows.filter((row) => row._deleted_at !== null).map((row) => row.id)).toEqual([gone]);
    const { changes } = await readPointer(stack.store, 'tasks');
    expect(
      (await readTree(stack.store, changes!)).rows.map((row) => [row.id, row._deleted_at !== null]),
    ).toEqual([[gone, true]]);

    stack.simulator.admin.create('tasks', record!);
    stack.simulator.admin.touch('tasks', { ids: [gone!] });
    expect((await stack.export()).runs[0]!.counts).toMatchObject({ updated: 1, rows: 120 });
    const again = await readSnapshot(stack.store, 'tasks');
    expect(again.rows.every((row) => row._deleted_at === null)).toBe(true);
  });

  it('makes a second pass only if the first one finds absent records', async () => {
    await started('tasks', 120);
    const before = requests('GET tasks');
    await reconcile('tasks');
    // Three pages and one catch-up.
    expect(requests('GET tasks') - before).toBe(4);
  });

  it('reads the record by id if the service supports that', async () => {
    await started('projects', 60);
    const [gone] = ids('projects').slice(30);
    stack.simulator.admin.remove('projects', [gone!]);
    const report = await reconcile('projects');
    expect(report.counts).toMatchObject({ deleted: 1, rows: 60 });
  });

  it('never takes a record for deleted that a shifting list hides', async () => {
    await started('tasks', 120);
    const mirror = stack.mirrorId('tasks');
    expect(mirror).toContain('tasks');
    // The offset cursor skips a record if an earlier one is removed during the read.
    stack.simulator.admin.configure({ cursorStyle: 'offset' });
    const first = ids('tasks')[0]!;
    let isRemoved = false;
    stack.simulator.admin.beforeAnswer({ resource: 'tasks', page: 1 }, () => {
      isRemoved = true;
      stack.simulator.admin.remove('tasks', [first]);
    });
    const report = await reconcile('tasks');
    expect(isRemoved).toBe(true);
    expect(report.outcome).toBe('published');
    const { rows } = await readSnapshot(stack.store, 'tasks');
    const marked = rows.filter((row) => row._deleted_at !== null).map((row) => row.id);
    for (const id of marked) expect(ids('tasks')).not.toContain(id);
  });

  it('stops before publishing if more than a tenth would be deleted, unless allowed', async () => {
    await started('tasks', 200);
    const published = await readPointer(stack.store, 'tasks');
    stack.simulator.admin.remove('tasks', ids('tasks').slice(0, 30));
    const report = await reconcile('tasks');
    expect(report.outcome).toBe('failed');
    expect(report.error!.message).toContain('30 of 200 rows');
    expect(await readPointer(stack.store, 'tasks')).toEqual(published);
    const allowed = await reconcile('tasks', { allowDeletes: true });
    expect(allowed).toMatchObject({ outcome: 'published', counts: { deleted: 30, rows: 200 } });
  });

  it('drops rows with deletes: drop, and never with deletes: keep', async () => {
    await started('tasks', 60, '    deletes: drop\n');
    stack.simulator.admin.remove('tasks', ids('tasks').slice(5, 8));
    expect((await reconcile('tasks')).counts).toMatchObject({ deleted: 3, rows: 57 });
    expect((await readSnapshot(stack.store, 'tasks')).rows.length).toBe(57);
    await stack.stop();
    await started('tasks', 60, '    deletes: keep\n');
    stack.simulator.admin.remove('tasks', ids('tasks').slice(5, 8));
    expect((await reconcile('tasks')).counts).toMatchObject({ deleted: 0, rows: 60 });
  });

  // `windows` reconciles after all rows have left it.
  longOnly('keeps rows that have left the window', async () => {
    stack = await startStack({
      s3: true,
      simulator: { seed: 9, awkward: false, now: Date.now(), counts: { 'time-entries': 40 } },
      resources: '[{ name: time-entries, window: 90d, windowField: startedAt }]',
    });
    await stack.startWorker();
    await stack.export();
    stack.simulator.admin.advance(60 * 24 * 60 * 60_000);
    const report = await reconcile('time-entries');
    expect(report.counts).toMatchObject({ deleted: 0, rows: 40 });
    expect(stack.simulator.admin.records('time-entries', 'listed').length).toBeLessThan(40);
  });
});

describe('a key of another organization', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is not suspected if only a few known projects are deleted', async () => {
    stack = await startStack({
      s3: true,
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 8, tasks: 3 } },
    });
    await stack.startWorker();
    await stack.export();
    const { admin } = stack.simulator;
    const ids = admin.records('projects').map((text) => (JSON.parse(text) as { id: string }).id);
    admin.remove('projects', [ids[0]!, ids.at(-1)!]);
    expect((await stack.export()).outcome).toBe('published');
    // Too few known projects for a conclusion.
    admin.remove('projects', ids.slice(1, -1));
    const result = await stack.export();
    expect(result.runs[1]).toMatchObject({ resource: 'tasks', outcome: 'refused' });
    expect((await stack.export({ adopt: true })).outcome).toBe('published');
  });

  it('is detected before the merge', async () => {
    stack = await startStack({
      s3: true,
      apiKey: 'ours',
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 20, tasks: 10 } },
    });
    const { keys } = stack.simulator.admin;
    keys.add({ key: 'ours', name: 'one', organization: 'acme', grants: ['*'] });
    keys.add({ key: 'theirs', name: 'two', organization: 'other', grants: ['*'] });
    stack.simulator.admin.organization('other').create('tasks', { name: 'foreign' });
    const first = await stack.startWorker();
    await stack.export();
    await first.stop();
    const before = await readPointer(stack.store, 'tasks');
    process.env.WORKTRACK_API_KEY = 'theirs';
    await stack.startWorker();
    const result = await stack.export();
    expect(result.outcome).toBe('refused');
    for (const run of result.runs)
      expect(run.error!.message).toContain('it is not shown that it belongs to the organization of the lake');
    expect(await readPointer(stack.store, 'tasks')).toEqual(before);
    const adopted = await stack.export({ adoptOrganization: true });
    expect(adopted.runs.map((run) => [run.resource, run.outcome, run.error?.message])).toEqual([
      ['projects', 'published', undefined],
      ['tasks', 'published', undefined],
    ]);
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(rows.map((row) => row.name)).toContain('foreign');
  });
});
