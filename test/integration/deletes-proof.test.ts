import { afterEach, describe, expect, it } from 'vitest';
import { reconcile } from '../support/ask.js';
import { listedIds } from '../support/mirrored.js';
import { type CommandProcess, startWorkerProcess } from '../support/processes.js';
import { readPointer, readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';

const DAY = 24 * 60 * 60_000;
const ROWS = 120;

describe('a reconciliation', () => {
  let stack: Stack;
  let processes: CommandProcess[] = [];
  afterEach(async () => {
    for (const one of processes) await one.signal('SIGKILL');
    processes = [];
    await stack?.stop();
  });

  /** Six pages of tasks whose cursors count records: a record removed before the reader makes it pass over another. */
  async function started(yaml = ''): Promise<void> {
    stack = await startStack({
      simulator: { seed: 9, awkward: false, cursorStyle: 'offset', counts: { tasks: ROWS } },
      resources: '[tasks]',
      yaml: `    sync: { pageSize: 20 }\n${yaml}`,
    });
  }

  const whilePageIsAsked = (page: number, action: () => void | Promise<void>) =>
    stack.simulator.admin.beforeAnswer({ resource: 'tasks', page }, action);
  const remove = (...ids: string[]) => stack.simulator.admin.remove('tasks', ids);
  async function marked(): Promise<(string | null)[]> {
    const { rows } = await readSnapshot(stack.store, 'tasks');
    return rows.filter((row) => row._deleted_at !== null).map((row) => row.id!);
  }

  it('concludes the one delete that is true, though each of its passes passes over another record', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    const ids = listedIds(stack, 'tasks');
    const gone = ids[90]!;
    remove(gone);
    // In the first pass the record on the border of pages 1 and 2 is hidden, in the second that of 2 and 3.
    whilePageIsAsked(2, () => {
      remove(ids[0]!);
      whilePageIsAsked(3, () => whilePageIsAsked(3, () => remove(ids[1]!)));
    });
    const { counts, outcome } = await reconcile(stack, 'tasks');
    expect(outcome).toBe('published');
    // What was removed while the pages were read was there once in this run.
    expect(await marked()).toEqual([gone]);
    expect(counts).toMatchObject({ deleted: 1, rows: ROWS });
    expect((await reconcile(stack, 'tasks')).counts).toMatchObject({ deleted: 2 });
    expect(await marked()).toEqual([ids[0], ids[1], gone]);
  });

  it('counts a pass that began anew, because its cursor expired, from its new beginning', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    const ids = listedIds(stack, 'tasks');
    const gone = ids[90]!;
    remove(gone);
    whilePageIsAsked(2, () => remove(ids[0]!));
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks', page: 3 },
      remaining: 2,
      fault: { kind: 'cursor-expired' },
    });
    expect((await reconcile(stack, 'tasks')).counts).toMatchObject({ deleted: 1, rows: ROWS });
    expect(await marked()).toEqual([gone]);
  });

  it('goes on at its cursor when its worker is told to stop, and the list shifts meanwhile', async () => {
    await started();
    const first = await stack.startWorker();
    await stack.export();
    const ids = listedIds(stack, 'tasks');
    const gone = ids[90]!;
    remove(gone);
    const before = stack.simulator.admin.stats().byRoute['GET tasks']!;
    const stopped = new Promise<void>((resolve) => {
      whilePageIsAsked(3, () => {
        // The call ends with this page, and another worker's goes on behind it.
        resolve(first.stop());
        remove(ids[0]!);
      });
    });
    const running = reconcile(stack, 'tasks');
    await stopped;
    await stack.startWorker();
    expect((await running).counts).toMatchObject({ deleted: 1, rows: ROWS });
    expect(await marked()).toEqual([gone]);
    // Two passes of six pages and a catch-up each, none begun anew.
    expect(stack.simulator.admin.stats().byRoute['GET tasks']! - before).toBe(14);
  });

  it('concludes the same when its worker is killed in the second pass, which begins anew', async () => {
    await started();
    const first = await startWorkerProcess(stack);
    processes.push(first);
    await stack.export();
    const ids = listedIds(stack, 'tasks');
    const gone = ids[90]!;
    remove(gone);
    const killed = new Promise<void>((resolve) => {
      whilePageIsAsked(2, () => {
        remove(ids[0]!);
        // Page 5 ends the first pass; the next page 3 is the second one's.
        whilePageIsAsked(5, () =>
          whilePageIsAsked(3, async () => {
            resolve();
            // This answer finds nobody any more.
            await first.exited;
          }),
        );
      });
    });
    const running = reconcile(stack, 'tasks');
    await killed;
    await first.signal('SIGKILL');
    processes.push(await startWorkerProcess(stack));
    expect((await running).counts).toMatchObject({ deleted: 1, rows: ROWS });
    expect(await marked()).toEqual([gone]);
  });

  it('concludes nothing when it is cut off before it is complete', async () => {
    await started('    retries: { giveUpAfter: 10s }\n');
    await stack.startWorker();
    await stack.export();
    const published = await readPointer(stack.store, 'tasks');
    remove(listedIds(stack, 'tasks')[90]!);
    const fault = stack.simulator.admin.faults.add({
      // On the last page: so few would be missing that no fuse would hold them.
      match: { resource: 'tasks', page: 5 },
      fault: { kind: 'status', status: 400 },
    });
    const report = await reconcile(stack, 'tasks');
    expect(report.outcome).toBe('failed');
    expect(await readPointer(stack.store, 'tasks')).toEqual(published);
    stack.simulator.admin.faults.remove(fault);
    expect((await stack.export({ full: true })).runs[0]!.counts).toMatchObject({ deleted: 0 });
    expect(await marked()).toEqual([]);
  });

  it('that stopped at its fuse is made again by an export that allows the deletes', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    remove(...listedIds(stack, 'tasks').slice(0, 21));
    expect((await reconcile(stack, 'tasks')).error!.message).toContain(
      'worktrack export --resource tasks --allow-deletes',
    );
    expect((await stack.export({ allowDeletes: true })).runs[0]!.counts).toMatchObject({ deleted: 21 });
  });

  it('lets up to twenty deletes pass, however few rows there are', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    remove(...listedIds(stack, 'tasks').slice(0, 20));
    expect((await reconcile(stack, 'tasks')).counts).toMatchObject({ deleted: 20 });
  });

  it('within a window spares what is near its edge or in the future, and concludes what is well inside', async () => {
    stack = await startStack({
      simulator: { seed: 9, awkward: false, now: Date.now(), counts: { 'time-entries': 0 } },
      resources: '[{ name: time-entries, window: 90d, windowField: startedAt }]',
    });
    const { admin } = stack.simulator;
    const daysAgo = [89, 88.1, 87.9, 40, 0.1, -1, 30];
    const [nearest, near, inside, old, fresh, future, stays] = daysAgo.map((days) =>
      admin.create('time-entries', {
        startedAt: new Date(admin.now() - days * DAY).toISOString(),
        durationSeconds: 60,
      }),
    ) as [string, string, string, string, string, string, string];
    await stack.startWorker();
    await stack.export();
    admin.remove('time-entries', [nearest, near, inside, old, fresh, future]);
    expect((await reconcile(stack, 'time-entries')).counts).toMatchObject({ deleted: 3, rows: 7 });
    const { rows } = await readSnapshot(stack.store, 'time-entries');
    const live = rows.filter((row) => row._deleted_at === null).map((row) => row.id);
    expect(live.sort()).toEqual([nearest, near, future, stays].sort());
  });
});
