import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { RunId } from '../../../src/core/brands.js';
import type { ExportResult, MirrorStatus } from '../../../src/core/contract/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { startRollback } from '../../../src/temporal/client/start.js';
import { expectMirrored } from '../../support/mirrored.js';
import { readNewestView } from '../../support/newest-view.js';
import { runCommand } from '../../support/processes.js';
import { drawn, longOnly } from '../../support/seeds.js';
import { readPointer, readSnapshot, runsIn } from '../../support/snapshot.js';
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
  const values = ({ _run_id, _synced_at, _deleted_at, ...cells }: Record<string, string | null>) => cells;

  it('is a run: it publishes the rows and the checkpoint of its target, and the next run reads everything', async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { tasks: 40 } },
      resources: '[tasks]',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const first = await stack.export();
    const target = await readSnapshot(stack.store, 'tasks');
    const before = await readPointer(stack.store, 'tasks');
    admin.addField('tasks', 'mood', '"sunny"', { count: 3, pick: 'newest' });
    const late = admin.create('tasks', { name: 'late', updatedAt: new Date(admin.now()).toISOString() });
    const second = await stack.export();
    const { header } = await readSnapshot(stack.store, 'tasks');
    expect(header).toContain('mood');

    const back = await rollback('tasks', runOf(first));
    expect(back).toMatchObject({
      outcome: 'published',
      runs: [
        {
          rows: 41,
          error: null,
          counts: { fetched: 40, unchanged: 37, inserted: 0, updated: 3, deleted: 1 },
          ...{ rolledBackTo: runOf(first), rolledBackFrom: runOf(second) },
        },
      ],
    });
    const pointer = await readPointer(stack.store, 'tasks');
    expect(pointer).toMatchObject({
      runId: runOf(back),
      checkpoint: before.checkpoint,
      rolledBack: { runId: runOf(back), to: runOf(first), from: runOf(second) },
    });
    const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId('tasks'));
    expect((await mirror.query<MirrorStatus>('status')).checkpoint).toEqual(before.checkpoint);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    const rolled = await readSnapshot(stack.store, 'tasks');
    expect(rolled.header).toEqual(header);
    const live = rolled.rows.filter((row) => row._deleted_at === null);
    expect(live.map(values)).toEqual(target.rows.map((row) => ({ mood: null, name: null, ...values(row) })));
    expect(rolled.rows.find((row) => row.id === late)!._deleted_at).not.toBeNull();

    // No increment from the target's checkpoint: the records that changed before are read again.
    const third = await stack.export();
    expect(third).toMatchObject({ outcome: 'published', runs: [{ rows: 41, warnings: [] }] });
    await expectMirrored(stack, 'tasks');
    expect((await stack.export()).runs[0]!.counts).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
    await expectMirrored(stack, 'tasks');
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    expect((await readPointer(stack.store, 'tasks')).rolledBack).toBeNull();
    // All runs stay on the chain, and their change logs where readers find them.
    const { newest, snapshot } = await readNewestView(stack, 'tasks');
    expect(newest).toEqual(snapshot);
    const logs = await runsIn(stack.store, 'tasks', 'changes');
    for (const one of [first, second, back, third]) expect(logs).toContain(`run=${runOf(one)}`);
  });

  // `unit/mirror/rollback-random` has all of them.
  it.each(drawn(['mark', 'drop', 'keep'] as const, 1))(
    'takes back rows that were inserted since, with `deletes: %s`',
    async (deletes) => {
      stack = await startStack({
        s3: true,
        simulator: { awkward: false, counts: { projects: 6 } },
        resources: '[projects]',
        yaml: `    deletes: ${deletes}\n`,
      });
      const { admin } = stack.simulator;
      await stack.startWorker();
      const first = await stack.export();
      const [early] = await ids('projects');
      const added = admin.create('projects', { name: 'added' });
      admin.update('projects', early!, { name: 'changed' });
      const second = await stack.export();
      await rollback('projects', runOf(first));
      const { rows } = await readSnapshot(stack.store, 'projects');
      const row = rows.find(({ id }) => id === added);
      if (deletes === 'drop') expect(row).toBeUndefined();
      else expect(row!._deleted_at).not.toBeNull();
      // The service lists the new record no more, and the changed one still.
      admin.remove('projects', [added]);
      const next = await stack.export();
      expect(next.runs[0]!.warnings.join()).toContain(
        `rollback: 1 record that the rollback to run ${runOf(first)} changed is not listed any more and stays as in that ` +
          `run; their newer versions are in run ${runOf(second)}: worktrack cat projects --run ${runOf(second)}`,
      );
      const after = (await readSnapshot(stack.store, 'projects')).rows;
      expect(after.find(({ id }) => id === early)!.name).toBe('changed');
      expect(after.filter(({ _deleted_at }) => _deleted_at === null).map(({ id }) => id)).toHaveLength(6);
    },
  );

  it('waits through runs with --since, ignores `reconcileEvery`, and concludes no deletes', async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { projects: 8 } },
      resources: '[projects]',
      yaml: '    sync: { reconcileEvery: never, overlap: 1s }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const first = await stack.export();
    const [one, two, three] = await ids('projects');
    admin.update('projects', one!, { name: 'changed' });
    admin.remove('projects', [two!]);
    await stack.export();
    await rollback('projects', runOf(first));
    admin.update('projects', three!, { name: 'changed, too' });
    const { connection, taskQueue, temporal } = stack;
    const since = await temporal.client.workflow.execute('backfillWorkflow', {
      workflowId: `${connection}-since`,
      taskQueue,
      args: [{ connection, since: new Date(admin.now() - 1000).toISOString().replace(/\.\d+/, '') }],
    });
    expect(since).toMatchObject({ outcome: 'published' });
    expect((await readPointer(stack.store, 'projects')).rolledBack).toMatchObject({ to: runOf(first) });
    const next = await stack.export();
    expect(next.runs[0]!.counts).toMatchObject({ deleted: 0, fetched: 7 });
    const { rows } = await readSnapshot(stack.store, 'projects');
    const byId = new Map(rows.map((row) => [row.id!, row]));
    expect(byId.get(one!)!.name).toBe('changed');
    expect(byId.get(three!)!.name).toBe('changed, too');
    // It is as in the target until a run detects deletes.
    expect(byId.get(two!)!._deleted_at).toBeNull();
    expect((await readPointer(stack.store, 'projects')).rolledBack).toBeNull();
    await temporal.client.workflow.execute('backfillWorkflow', {
      workflowId: `${connection}-reconcile`,
      taskQueue,
      args: [{ connection, reconcile: true }],
    });
    const deleted = (await readSnapshot(stack.store, 'projects')).rows.find(({ id }) => id === two);
    expect(deleted!._deleted_at).not.toBeNull();
  });

  // `unit/mirror/rollback-settings` has rollbacks between changes of masks.
  longOnly("applies today's masking", async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { tasks: 5 } },
      resources: '[tasks]',
    });
    const worker = await stack.startWorker();
    const first = await stack.export();
    await worker.stop();
    const masked = (await readFile(stack.configFile, 'utf8')).replace(
      '[tasks]',
      '[{ name: tasks, columns: { mask: { title: redact } } }]',
    );
    await stack.startWorker(parseSettings(masked, stack.configFile));
    await stack.export();
    const back = await rollback('tasks', runOf(first));
    expect(back.outcome).toBe('published');
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(new Set(rows.map(({ title }) => title)).size).toBe(1);
    await stack.export();
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
  });

  it('leaves rows outside the window as in the target, and says so', async () => {
    stack = await startStack({
      s3: true,
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
    const second = await stack.export();
    // The service no longer lists any of these records.
    admin.advance(120 * DAY);
    expect((await rollback('time-entries', runOf(first))).outcome).toBe('published');
    const fresh = admin.create('time-entries', entry('fresh'));
    const again = await stack.export();
    expect(again.runs[0]!.warnings.join()).toContain('rollback: 1 record');
    const byId = new Map((await readSnapshot(stack.store, 'time-entries')).rows.map((row) => [row.id!, row]));
    expect(byId.get(fresh)!._deleted_at).toBeNull();
    expect(byId.get(early)).toMatchObject({ note: 'early' });
    expect(byId.get(early)!._deleted_at).not.toBeNull();
    // To undo the rollback, one rolls back to the run before it, even after later runs.
    expect((await rollback('time-entries', runOf(second))).outcome).toBe('published');
    const undone = (await readSnapshot(stack.store, 'time-entries')).rows.find(({ id }) => id === early);
    expect(undone).toMatchObject({ note: 'early', _deleted_at: null });
  });

  // The test before it undoes a rollback, and that of the command names an unpublished run.
  longOnly('can be undone at any time, and rejects an unpublished run', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    await stack.startWorker();
    const first = await stack.export();
    stack.simulator.admin.create('projects', { name: 'second' });
    const second = await stack.export();
    const all = (await readSnapshot(stack.store, 'projects')).rows.map(values);
    await rollback('projects', runOf(first));
    expect((await rollback('projects', runOf(second))).outcome).toBe('published');
    const { rows } = await readSnapshot(stack.store, 'projects');
    expect(rows.map(values)).toEqual(all);
    expect(rows.every(({ _deleted_at }) => _deleted_at === null)).toBe(true);
    const wrong = await rollback('projects', '20200101T000000Z-00000000');
    expect(wrong).toMatchObject({ outcome: 'failed', runs: [{ error: { type: 'Configuration' } }] });
    expect(wrong.runs[0]!.error!.message).toContain(runOf(first));
    expect((await stack.export()).outcome).toBe('published');
  });

  it('does not change the pointer if the target snapshot is damaged', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    await stack.startWorker();
    const [first, second] = [await stack.export(), await stack.export()];
    const folder = first.runs[0]!.snapshot!.replace('_datapackage.json', '');
    for await (const { key } of stack.store.list(`${folder}part-`)) await stack.store.remove([key]);
    const result = await rollback('projects', runOf(first));
    expect(result).toMatchObject({ outcome: 'failed', runs: [{ error: { type: 'Lake' } }] });
    expect((await readPointer(stack.store, 'projects')).runId).toBe(runOf(second));
    expect((await stack.export()).outcome).toBe('published');
  });

  it('is a command that prints what it published, and rejects a wrong run id', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    await stack.startWorker();
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
    expect(good.stdout).toMatch(
      new RegExp(`projects: run \\S+ publishes the rows of run ${runOf(first)} \\(5 rows\\)`),
    );
    expect((await runCommand(stack, args('yesterday'))).stderr).toMatch(/must be a run id such as/);
    const unknown = await runCommand(stack, args('20200101T000000Z-00000000'));
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toMatch(/was never published\. Roll back to one of/);
  });
});
