import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import type { ExportResult, MirrorStatus } from '../../../src/core/contract/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify.js';
import { startRollback } from '../../../src/temporal/client/start.js';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { resultOf, type Stack, startStack } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;

describe('a rollback', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const rollback = async (resource: string, to: string): Promise<ExportResult> => {
    const { taskQueue, temporal, connection } = stack;
    const id = await startRollback(temporal, { connection, resource, to: to as RunId }, { taskQueue });
    return temporal.client.workflow.getHandle(id).result().catch(resultOf) as Promise<ExportResult>;
  };
  const ids = async (resource: string) =>
    (await readSnapshot(stack.store, resource)).rows.map((row) => row.id!).sort();
  const runOf = (result: ExportResult) => result.runs[0]!.runId!;

  it('moves pointer and checkpoint back together, keeps the columns, and the next increment catches up', async () => {
    stack = await startStack({ simulator: { awkward: false, counts: { tasks: 40 } }, resources: '[tasks]' });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const first = await stack.export();
    const before = await readPointer(stack.store, 'tasks');
    admin.addField('tasks', 'mood', '"sunny"', { count: 3, pick: 'newest' });
    admin.create('tasks', { name: 'late', updatedAt: new Date(admin.now()).toISOString() });
    const second = await stack.export();
    const { header } = await readSnapshot(stack.store, 'tasks');
    expect(header).toContain('mood');

    expect(await rollback('tasks', runOf(first))).toMatchObject({
      outcome: 'published',
      runs: [{ runId: runOf(first), rows: 40, error: null }],
    });
    const pointer = await readPointer(stack.store, 'tasks');
    expect(pointer).toMatchObject({ ...before, rolledBackFrom: { runId: runOf(second) } });
    const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId('tasks'));
    expect((await mirror.query<MirrorStatus>('status')).checkpoint).toEqual(before.checkpoint);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);

    const third = await stack.export();
    expect(third).toMatchObject({ outcome: 'published', runs: [{ rows: 41, warnings: [] }] });
    const after = await readSnapshot(stack.store, 'tasks');
    expect(after.header).toEqual(header);
    expect(after.rows.filter((row) => row.mood === 'sunny').length).toBe(3);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    expect(await readPointer(stack.store, 'tasks')).not.toHaveProperty('rolledBackFrom');
    // A reader of all change logs sees only the runs on the chain.
    const logs: string[] = [];
    for await (const { key } of stack.store.list('')) if (key.includes('/changes/')) logs.push(key);
    const of = (run: string, root: string) => logs.some((key) => key.startsWith(root) && key.includes(run));
    expect(of(runOf(second), 'tasks/')).toBe(false);
    expect(of(runOf(second), '_rolled-back/tasks/')).toBe(true);
    expect(of(runOf(third), 'tasks/')).toBe(true);
  });

  it('keeps a column that only rolled-back runs have', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 5 } },
      resources: '[projects]',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const first = await stack.export();
    const id = admin.create('projects', { name: 'short-lived', shade: 'red' });
    await stack.export();
    admin.remove('projects', [id]);
    await rollback('projects', runOf(first));
    expect(await stack.export()).toMatchObject({ outcome: 'published', runs: [{ rows: 5 }] });
    expect((await readSnapshot(stack.store, 'projects')).header.at(-1)).toBe('shade');
  });

  it('restores rows that have left the window from the change logs, except those in the snapshot', async () => {
    stack = await startStack({
      simulator: { awkward: false, now: Date.now(), counts: { 'time-entries': 30 } },
      resources: '[time-entries]',
      yaml: '    sync: { clock: service }\n    retention: { snapshots: 400d }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const first = await stack.export();
    const entry = (note: string) => ({
      note,
      startedAt: new Date(admin.now()).toISOString(),
      durationSeconds: 60,
    });
    admin.advance(DAY);
    const early = admin.create('time-entries', entry('early'));
    const [changed] = admin.touch('time-entries', { count: 1, pick: 'newest' });
    await stack.export();
    admin.advance(DAY);
    const late = admin.create('time-entries', entry('late'));
    await stack.export();
    const all = await ids('time-entries');

    // The service no longer lists any of these records.
    admin.advance(120 * DAY);
    const back = await rollback('time-entries', runOf(first));
    expect(back.outcome).toBe('published');
    expect(await ids('time-entries')).not.toContain(late);
    const fresh = admin.create('time-entries', entry('fresh'));
    const again = await stack.export();
    expect(again).toMatchObject({ outcome: 'published', runs: [{ counts: { inserted: 3 } }] });
    expect(again.runs[0]!.warnings.join()).toMatch(
      /2 rows came from the change logs of rolled-back runs, because run .* does not have them/,
    );
    expect(await ids('time-entries')).toEqual([...all, fresh].sort());
    const { rows } = await readSnapshot(stack.store, 'time-entries');
    expect(rows.filter((row) => row.id === early).map((row) => row.note)).toEqual(['early']);
    expect(rows.find((row) => row.id === changed)).toBeDefined();
    expect((await verifySnapshot(stack.store, 'time-entries')).problems).toEqual([]);
  });

  it('keeps corrections and deletes of rows that have left the window', async () => {
    stack = await startStack({
      simulator: { awkward: false, now: Date.now(), counts: { 'time-entries': 60 } },
      resources: '[{ name: time-entries, window: 90d, windowField: startedAt }]',
      yaml: '    sync: { clock: service }\n    retention: { snapshots: 400d }\n',
    });
    const { admin } = stack.simulator;
    const startedAt = new Date(admin.now() - DAY).toISOString();
    const entry = (note: string) => ({ note, startedAt, durationSeconds: 60 });
    const corrected = Array.from({ length: 40 }, () => admin.create('time-entries', entry('v1')));
    const removed = admin.create('time-entries', entry('v1'));
    await stack.startWorker();
    const first = await stack.export();
    admin.advance(DAY);
    for (const id of corrected) admin.update('time-entries', id, entry('v2'));
    await stack.export();
    admin.advance(DAY);
    admin.remove('time-entries', [removed]);
    const { taskQueue, temporal, connection } = stack;
    await temporal.client.workflow.execute('backfillWorkflow', {
      workflowId: `${connection}-reconcile`,
      taskQueue,
      args: [{ connection, reconcile: true }],
    });
    const before = (await readSnapshot(stack.store, 'time-entries')).rows;
    expect(before.find((row) => row.id === removed)!._deleted_at).not.toBeNull();

    // The service no longer lists any of these records.
    admin.advance(120 * DAY);
    expect((await rollback('time-entries', runOf(first))).outcome).toBe('published');
    const again = await stack.export();
    expect(again.outcome).toBe('published');
    expect(again.runs[0]!.warnings.join()).toMatch(
      /4\d rows of run .* got a newer version, or a delete, from the change logs/,
    );
    const { rows } = await readSnapshot(stack.store, 'time-entries');
    const byId = new Map(rows.map((row) => [row.id!, row]));
    expect(corrected.map((id) => byId.get(id)!.note)).toEqual(corrected.map(() => 'v2'));
    expect(byId.get(removed)!._deleted_at).toBe(before.find((row) => row.id === removed)!._deleted_at);
    expect((await verifySnapshot(stack.store, 'time-entries')).problems).toEqual([]);
  });

  it('can be undone until the next run, and rejects an unpublished run', async () => {
    stack = await startStack({ simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    await stack.startWorker();
    const [first, second] = [await stack.export(), await stack.export()];
    await rollback('projects', runOf(first));
    expect((await rollback('projects', runOf(second))).outcome).toBe('published');
    expect(await readPointer(stack.store, 'projects')).toMatchObject({ runId: runOf(second) });
    expect(await readPointer(stack.store, 'projects')).not.toHaveProperty('rolledBackFrom');
    const wrong = await rollback('projects', '20200101T000000Z-00000000');
    expect(wrong).toMatchObject({ outcome: 'failed', runs: [{ error: { type: 'Configuration' } }] });
    expect(wrong.runs[0]!.error!.message).toContain(runOf(first));
    expect((await stack.export()).outcome).toBe('published');
  });

  it('does not change the pointer if the target snapshot is damaged', async () => {
    stack = await startStack({ simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    await stack.startWorker();
    const [first, second] = [await stack.export(), await stack.export()];
    const folder = first.runs[0]!.snapshot!.replace('_datapackage.json', '');
    for await (const { key } of stack.store.list(`${folder}part-`)) await stack.store.remove([key]);
    const result = await rollback('projects', runOf(first));
    expect(result).toMatchObject({ outcome: 'failed', runs: [{ error: { type: 'Lake' } }] });
    expect((await readPointer(stack.store, 'projects')).runId).toBe(runOf(second));
    expect((await stack.export()).outcome).toBe('published');
  });

  it('is a command that prints what latest.json names, and rejects a wrong run id', async () => {
    stack = await startStack({ simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    const worker = await startWorkerProcess(stack);
    const [first] = [await stack.export(), await stack.export()];
    const args = (to: string) => [
      'rollback',
      '--config',
      stack.configFile,
      '--task-queue',
      stack.taskQueue,
      '--resource',
      'projects',
      '--to',
      to,
    ];
    const good = await runCommand(stack, args(runOf(first)));
    expect(good).toMatchObject({ code: 0 });
    expect(good.stdout).toContain(`projects: latest.json points at run ${runOf(first)} (5 rows)`);
    expect((await runCommand(stack, args('yesterday'))).stderr).toMatch(/not a run id such as/);
    const unknown = await runCommand(stack, args('20200101T000000Z-00000000'));
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toMatch(/was never published\. Roll back to one of/);
    await worker.signal('SIGTERM');
  });
});
