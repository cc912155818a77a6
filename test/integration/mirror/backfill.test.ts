import { afterEach, describe, expect, it } from 'vitest';
import type { UtcSeconds } from '../../../src/core/brands.js';
import type { BackfillInput, ExportResult, MirrorStatus } from '../../../src/core/contract/index.js';
import { InvalidArgumentError } from '../../../src/core/errors.js';
import { requestSync, startBackfill } from '../../../src/temporal/client/start.js';
import { holdAnswer } from '../../support/hold.js';
import { assertRowEquals } from '../../support/oracle.js';
import { runCommand } from '../../support/processes.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { resultOf, type Stack, startStack, until } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;

describe('a backfill', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const start = async (input: Partial<BackfillInput> = {}) => {
    const { temporal, connection, taskQueue } = stack;
    const id = await startBackfill(temporal, { connection, ...input }, { taskQueue });
    return temporal.client.workflow.getHandle(id);
  };
  const backfill = async (input: Partial<BackfillInput> = {}) =>
    (await start(input)).result().catch(resultOf) as Promise<ExportResult>;
  const status = (resource: string) =>
    stack.temporal.client.workflow.getHandle(stack.mirrorId(resource)).query<MirrorStatus>('status');
  const checkpoint = async (resource: string) => (await status(resource)).checkpoint!.updatedSince;

  async function assertEqualsService(resource: string): Promise<void> {
    const records = stack.simulator.admin.records(resource);
    const rows = new Map((await readSnapshot(stack.store, resource)).rows.map((row) => [row.id, row]));
    expect(rows.size).toBe(records.length);
    for (const text of records) assertRowEquals(rows.get((JSON.parse(text) as { id: string }).id)!, text);
  }

  it('a backfill that starts during a nightly export, is cancelled midway and starts again ends equal to the service', async () => {
    stack = await startStack({
      simulator: { seed: 3, counts: { tasks: 1000 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 100 }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    await stack.export();
    const before = await checkpoint('tasks');
    const published = await readPointer(stack.store, 'tasks');
    admin.touch('tasks', { count: 500, pick: 'spread' });
    const night = holdAnswer(stack.simulator, { resource: 'tasks', page: 1 });
    const nightly = stack.export();
    await until(night.isThere, 'the nightly run is in progress');
    const first = await start();
    await until(async () => (await status('tasks')).waiting === 1, 'the backfill waits');
    const reading = holdAnswer(stack.simulator, { resource: 'tasks', page: 5 });
    night.release();
    expect(await nightly).toMatchObject({ outcome: 'published', runs: [{ counts: { updated: 500 } }] });
    const afterNight = await checkpoint('tasks');
    expect(afterNight >= before).toBe(true);

    await until(reading.isThere, 'the backfill reads');
    const { runId } = (await status('tasks')).active!;
    await first.cancel();
    await expect(first.result()).rejects.toMatchObject({
      name: 'WorkflowFailedError',
      cause: { name: 'CancelledFailure' },
    });
    await until(async () => (await status('tasks')).active === null, 'the run has stopped');
    expect((await status('tasks')).lastRun).toMatchObject({ outcome: 'cancelled', runId });
    expect(await checkpoint('tasks')).toBe(afterNight);
    expect((await readPointer(stack.store, 'tasks')).runId).not.toBe(published.runId);
    const left: string[] = [];
    for await (const { key } of stack.store.list('')) if (key.includes(runId)) left.push(key);
    expect(left).toEqual([]);
    reading.release();

    admin.touch('tasks', { count: 7, pick: 'spread' });
    expect(await backfill()).toMatchObject({
      outcome: 'published',
      runs: [{ rows: 1000, counts: { updated: 7 } }],
    });
    expect((await checkpoint('tasks')) >= afterNight).toBe(true);
    await assertEqualsService('tasks');
  });

  it('since a time reads the changes since then, and does not move a later checkpoint', async () => {
    stack = await startStack({
      simulator: { awkward: false, now: Date.now() - 10 * DAY, counts: { projects: 20 } },
      resources: '[projects]',
      yaml: '    sync: { clock: service }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    await stack.export();
    admin.advance(2 * DAY);
    admin.touch('projects', { count: 4, pick: 'newest' });
    const since = new Date(admin.now()).toISOString().replace(/\.\d+/, '') as UtcSeconds;
    const before = await checkpoint('projects');
    admin.advance(2 * DAY);
    // Later than the checkpoint: the changes in between are not read, so the checkpoint must not move.
    expect(await backfill({ since })).toMatchObject({
      outcome: 'published',
      runs: [{ counts: { fetched: 4, updated: 4 } }],
    });
    expect(await checkpoint('projects')).toBe(before);
    expect((await readPointer(stack.store, 'projects')).checkpoint.updatedSince).toBe(before);
    await stack.export();
    const moved = await checkpoint('projects');
    expect(moved > before).toBe(true);
    // Earlier than the checkpoint: the run reads more than necessary, and the checkpoint advances.
    admin.advance(DAY);
    expect(await backfill({ since })).toMatchObject({
      outcome: 'published',
      runs: [{ counts: { unchanged: 4 } }],
    });
    expect((await checkpoint('projects')) > moved).toBe(true);
  });

  it('a backfill with reconcile detects deletes, and one without does not', async () => {
    stack = await startStack({ simulator: { counts: { projects: 20 } }, resources: '[projects]' });
    await stack.startWorker();
    await stack.export();
    const [gone] = stack.simulator.admin
      .records('projects')
      .map((text) => JSON.parse(text) as { id: string });
    stack.simulator.admin.remove('projects', [gone!.id]);
    expect((await backfill()).runs[0]!.counts).toMatchObject({ deleted: 0, rows: 20 });
    expect((await backfill({ reconcile: true })).runs[0]!.counts).toMatchObject({ deleted: 1, rows: 20 });
  });

  it('a backfill of an empty mirror reads everything, even with a start time', async () => {
    stack = await startStack({ simulator: { counts: { projects: 9 } }, resources: '[projects]' });
    await stack.startWorker();
    const since = '2026-11-21T00:00:00Z' as UtcSeconds;
    expect(await backfill({ since })).toMatchObject({ outcome: 'published', runs: [{ rows: 9 }] });
  });

  it('is a command that rejects an invalid time', async () => {
    stack = await startStack({ simulator: { counts: { projects: 9 } }, resources: '[projects, tasks]' });
    await stack.startWorker();
    const run = (...args: string[]) =>
      runCommand(stack, ['backfill', '--config', stack.configFile, '--task-queue', stack.taskQueue, ...args]);
    const good = await run('--resource', 'projects', '--since', '2026-01-01', '--json');
    expect(good.code).toBe(0);
    expect(JSON.parse(good.stdout)).toMatchObject({
      outcome: 'published',
      runs: [{ resource: 'projects', rows: 9 }],
    });
    expect(await run('--since', 'yesterday')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--since "yesterday" is not a time\. Write a date/),
    });
    expect(await run('--since', '2026-01-01', '--reconcile')).toMatchObject({ code: 2 });
    expect(await run('--resource', 'nothing')).toMatchObject({ code: 2 });
  });

  it('requested by the update `sync` returns an id immediately, and invalid input is rejected', async () => {
    stack = await startStack({ simulator: { counts: { projects: 4 } }, resources: '[projects]' });
    await stack.startWorker();
    const { temporal, connection, taskQueue } = stack;
    const target = { connection, resource: 'projects' };
    const { requestId } = await requestSync(temporal, { ...target, reconcile: true }, { taskQueue });
    const mirror = temporal.client.workflow.getHandle(stack.mirrorId('projects'));
    await until(async () => (await mirror.query('answer', requestId)) !== null, 'the run is over');
    expect(await mirror.query('answer', requestId)).toMatchObject({ outcome: 'published', rows: 4 });
    for (const nonsense of [{ mode: 'some' }, { reconcile: true, since: '2026-01-01T00:00:00Z' }, { all: 1 }])
      await expect(
        requestSync(temporal, { ...target, ...(nonsense as object) }, { taskQueue }),
      ).rejects.toMatchObject({ name: 'WorkflowUpdateFailedError' });
    await expect(requestSync(temporal, { ...target, since: 'now' }, { taskQueue })).rejects.toBeInstanceOf(
      InvalidArgumentError,
    );
    // Programs in other languages send the update without this package's client.
    await expect(mirror.executeUpdate('sync', { args: [{ since: 'now' }] })).rejects.toMatchObject({
      name: 'WorkflowUpdateFailedError',
    });
    expect((await status('projects')).waiting).toBe(0);
  });
});
