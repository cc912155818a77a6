import { afterEach, describe, expect, it } from 'vitest';
import { reconcile } from '../../support/mirror-requests.js';
import { listedIds } from '../../support/mirrored.js';
import { type CommandProcess, startWorkerProcess } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

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

  /** Six pages of tasks whose cursors count records: a removal before the cursor makes it skip a record. */
  async function started(yaml = ''): Promise<void> {
    stack = await startStack({
      // The service's own limit, so that a list that is read again in larger pages has as many.
      simulator: { seed: 9, awkward: false, cursorStyle: 'offset', counts: { tasks: ROWS }, pageMax: 20 },
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

  it('detects the only real delete, although each pass skips another record', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    const ids = listedIds(stack, 'tasks');
    const gone = ids[90]!;
    remove(gone);
    // The first pass skips the record between pages 1 and 2, and the second pass the one between pages 2 and 3.
    whilePageIsAsked(2, () => {
      remove(ids[0]!);
      whilePageIsAsked(3, () => whilePageIsAsked(3, () => remove(ids[1]!)));
    });
    const { counts, outcome } = await reconcile(stack, 'tasks');
    expect(outcome).toBe('published');
    // The records removed during the read were fetched once in this run.
    expect(await marked()).toEqual([gone]);
    expect(counts).toMatchObject({ deleted: 1, rows: ROWS });
    expect((await reconcile(stack, 'tasks')).counts).toMatchObject({ deleted: 2 });
    expect(await marked()).toEqual([ids[0], ids[1], gone]);
  });

  it('counts a pass from its restart after the cursor expired', async () => {
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

  it('resumes at its cursor after its worker was stopped, although the list shifts meanwhile', async () => {
    await started();
    const first = await stack.startWorker();
    await stack.export();
    const ids = listedIds(stack, 'tasks');
    const gone = ids[90]!;
    remove(gone);
    const before = stack.simulator.admin.stats().byRoute['GET tasks']!;
    const stopped = new Promise<void>((resolve) => {
      whilePageIsAsked(3, () => {
        // The call ends with this page, and a call on another worker reads the next one.
        resolve(first.stop());
        remove(ids[0]!);
      });
    });
    const running = reconcile(stack, 'tasks');
    await stopped;
    await stack.startWorker();
    expect((await running).counts).toMatchObject({ deleted: 1, rows: ROWS });
    expect(await marked()).toEqual([gone]);
    // Two passes of six pages with a catch-up each, and no restart.
    expect(stack.simulator.admin.stats().byRoute['GET tasks']! - before).toBe(14);
  });

  // `random` kills workers in reconciliations, and the test above stops one in the middle of a pass.
  longOnly(
    'starts afresh if its worker is killed while it is in memory, and then detects what is gone in both of its passes',
    async () => {
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
          // Page 5 ends the first pass. The next page 3 belongs to the second pass.
          whilePageIsAsked(5, () =>
            whilePageIsAsked(3, async () => {
              resolve();
              // No worker receives this response.
              await first.exited;
            }),
          );
        });
      });
      const running = reconcile(stack, 'tasks');
      await killed;
      await first.signal('SIGKILL');
      processes.push(await startWorkerProcess(stack));
      expect((await running).counts).toMatchObject({ deleted: 2, rows: ROWS });
      expect([...(await marked())].sort()).toEqual([gone, ids[0]!].sort());
    },
  );

  it('detects no deletes if it ends before it is complete', async () => {
    await started('    retries: { giveUpAfter: 10s }\n');
    await stack.startWorker();
    await stack.export();
    const published = await readPointer(stack.store, 'tasks');
    remove(listedIds(stack, 'tasks')[90]!);
    const fault = stack.simulator.admin.faults.add({
      // On the last page: so few records would be absent that the delete limit would not apply.
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

  it('a reconciliation that stopped at the delete limit is repeated by an export with --allow-deletes', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    remove(...listedIds(stack, 'tasks').slice(0, 21));
    expect((await reconcile(stack, 'tasks')).error!.message).toContain(
      'worktrack export --resource tasks --allow-deletes',
    );
    expect((await stack.export({ allowDeletes: true })).runs[0]!.counts).toMatchObject({ deleted: 21 });
  });

  it('allows up to twenty deletes, however few rows there are', async () => {
    await started();
    await stack.startWorker();
    await stack.export();
    remove(...listedIds(stack, 'tasks').slice(0, 20));
    expect((await reconcile(stack, 'tasks')).counts).toMatchObject({ deleted: 20 });
  });

  it('a reconciliation of a window ignores records near its edge or in the future, and detects deletes well inside', async () => {
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
