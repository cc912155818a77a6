import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import type { ExportResult, MirrorStatus } from '../../../src/core/contract/index.js';
import { parseRunDate } from '../../../src/core/run-id.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import { readSnapshotAt } from '../../../src/lake/published/read-published.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { holdAnswer } from '../../support/hold.js';
import { placeOf, resetMirror } from '../../support/mirror-requests.js';
import { runRequest } from '../../support/run-request.js';
import { readPointer, readSnapshot, runsIn } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** The error of a workflow that ended as cancelled. */
const CANCELLED = { name: 'WorkflowFailedError', cause: { name: 'CancelledFailure' } };

describe('a mirror', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const start = (args: object = {}) =>
    stack.temporal.client.workflow.start('exportWorkflow', {
      workflowId: `${stack.connection}-export-${randomBytes(4).toString('hex')}`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection, ...args }],
    });
  const status = (resource: string) =>
    stack.temporal.client.workflow.getHandle(stack.mirrorId(resource)).query<MirrorStatus>('status');

  const writePointer = (pointer: Pointer) =>
    stack.store.write(pointerKey('projects'), encodePointer(pointer));

  /** A service that holds its third page, so that the test can interfere with a run. */
  const startHeld = async () => {
    stack = await startStack({
      s3: true,
      simulator: { counts: { projects: 50 } },
      resources: '[projects]',
      yaml: '    sync: { pageSize: 1 }\n',
    });
    await stack.startWorker();
    return holdAnswer(stack.simulator, { resource: 'projects', page: 2 });
  };

  it('answers many concurrent exports, and merges the equal requests that wait during a run into one run', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 5 } }, resources: '[projects]' });
    await stack.startWorker();
    const held = holdAnswer(stack.simulator, { resource: 'projects' });
    const first = await start();
    await until(held.isThere, 'the first run is in progress');
    const others = await Promise.all(Array.from({ length: 9 }, () => start()));
    await until(async () => (await status('projects')).waiting === 9, 'the other exports wait');
    held.release();
    const results: ExportResult[] = await Promise.all([first, ...others].map((handle) => handle.result()));
    expect(results.map(({ outcome }) => outcome)).toEqual(new Array(10).fill('published'));
    const [own, ...shared] = results.map(({ runs }) => runs[0]!.runId);
    expect(new Set(shared).size).toBe(1);
    expect((await runsIn(stack.store, 'projects')).sort()).toEqual([`run=${own}`, `run=${shared[0]}`].sort());
  });

  it('continues as new while requests wait, and neither loses nor repeats one', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 2 } }, resources: '[projects]' });
    await stack.startWorker();
    const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId('projects'));
    const runs = new Set<string>();
    const checkpoints: string[] = [];
    let firstHistory: string | null = null;
    let roundsAfter = 0;
    // How many events a run takes depends on the signals that arrive in one task.
    for (let round = 0; round < 64 && roundsAfter < 2; round++) {
      // Two modes are requested together, so one of them always waits.
      const pair = await Promise.all([start(), start({ full: true })]);
      const results = (await Promise.all(pair.map((handle) => handle.result()))) as ExportResult[];
      for (const { outcome, runs: reports } of results) {
        expect(outcome).toBe('published');
        expect(runs.has(reports[0]!.runId!)).toBe(false);
        runs.add(reports[0]!.runId!);
      }
      checkpoints.push((await status('projects')).checkpoint!.updatedSince);
      const history = (await mirror.describe()).runId;
      firstHistory ??= history;
      if (history !== firstHistory) roundsAfter++;
    }
    expect(roundsAfter).toBe(2);
    expect(runs.size).toBe(2 * checkpoints.length);
    expect((await runsIn(stack.store, 'projects')).length).toBe(runs.size);
    expect([...checkpoints].sort()).toEqual(checkpoints);
  });

  it('gives consecutive runs ids in their order', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 1 } }, resources: '[projects]' });
    await stack.startWorker();
    const published: RunId[] = [];
    for (let run = 0; run < 5; run++) published.push((await stack.export()).runs[0]!.runId!);
    const seconds = published.map(parseRunDate);
    expect([...new Set(seconds)].sort()).toEqual(seconds);
    expect((await verifySnapshot(stack.store, 'projects')).problems).toEqual([]);
  });

  it('runs a repeated request only once', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 2 } }, resources: '[projects]' });
    await stack.startWorker();
    await stack.export();
    const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId('projects'));
    const request = runRequest();
    await mirror.signal('requestRun', request);
    await mirror.signal('requestRun', request);
    await until(async () => {
      const { active, waiting, lastRun } = await status('projects');
      return active === null && waiting === 0 && lastRun !== null;
    }, 'the mirror rests');
    await mirror.signal('requestRun', request);
    expect(await status('projects')).toMatchObject({ active: null, waiting: 0 });
    expect((await runsIn(stack.store, 'projects')).length).toBe(2);
  });

  it('cancels its run when the only waiting export is cancelled, and publishes nothing', async () => {
    const held = await startHeld();
    const handle = await start();
    await until(held.isThere, 'pages are read');
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject(CANCELLED);
    await until(async () => (await status('projects')).active === null, 'the run has stopped');
    expect((await status('projects')).lastRun!.outcome).toBe('cancelled');
    expect(await stack.store.readIfExists('projects/latest.json' as never)).toBeNull();
    held.release();
    expect((await stack.export()).outcome).toBe('published');
    expect((await readSnapshot(stack.store, 'projects')).rows.length).toBe(50);
  });

  it('reads checkpoint and snapshot from the lake when it starts without a state', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 8 } }, resources: '[projects]' });
    await stack.startWorker();
    await stack.export();
    const before = await readPointer(stack.store, 'projects');
    await stack.temporal.client.workflow.getHandle(stack.mirrorId('projects')).terminate('reset');
    stack.simulator.admin.touch('projects', { count: 1, pick: 'newest' });
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'published', counts: { updated: 1, retained: 7 } });
    const { checkpoint } = await readPointer(stack.store, 'projects');
    expect(checkpoint.updatedSince >= before.checkpoint.updatedSince).toBe(true);
  });

  it('stops when another mirror has published instead, names it, and takes over with --adopt', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 4 } }, resources: '[projects]' });
    await stack.startWorker();
    await stack.export();
    const pointer = await readPointer(stack.store, 'projects');
    const runId = '20300101T000000Z-deadbeef' as RunId;
    await writePointer({ ...pointer, runId, writer: { workflow: 'another', namespace: 'default' } });
    const displaced = await stack.export();
    expect(displaced.outcome).toBe('failed');
    expect(displaced.runs[0]!.error).toMatchObject({ type: 'Displaced' });
    expect(displaced.runs[0]!.error!.message).toContain('20300101T000000Z-deadbeef');
    expect((await stack.export({ adopt: true })).outcome).toBe('published');
  });

  it('continues from its own runs whose results were lost, and stops at an earlier state of the lake', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { projects: 4 } }, resources: '[projects]' });
    await stack.startWorker();
    await stack.export();
    const first = await readPointer(stack.store, 'projects');
    const place = await placeOf(stack, 'projects');
    await stack.export();
    await stack.export();
    const last = await readPointer(stack.store, 'projects');
    // The mirror's state no longer has the last two runs.
    await resetMirror(stack, 'projects', place);
    expect((await status('projects')).published?.runId).toBe(first.runId);
    const { runs } = await stack.export();
    expect(runs).toMatchObject([{ outcome: 'published', rows: 4 }]);
    const manifest = await readSnapshotAt(stack.store, runs[0]!.snapshot!);
    expect(manifest.previousRuns[0]?.runId).toBe(last.runId);
    expect(manifest.previousRuns.at(-1)?.runId).toBe(first.runId);
    expect(manifest.leftBehind).toEqual([]);

    const newest = await readPointer(stack.store, 'projects');
    await writePointer(last);
    const restored = await stack.export();
    expect(restored.runs[0]!.error).toMatchObject({
      type: 'Displaced',
      message: expect.stringContaining(`this mirror published run ${newest.runId} later`) as string,
    });
    const adopted = await stack.export({ adopt: true });
    expect(adopted.outcome).toBe('published');
    const after = await readSnapshotAt(stack.store, adopted.runs[0]!.snapshot!);
    expect(after).toMatchObject({ previousRunId: last.runId, leftBehind: [newest.runId] });
  });

  it('answers the waiting export when it is cancelled', async () => {
    const held = await startHeld();
    const exporting = stack.export();
    await until(held.isThere, 'pages are read');
    const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId('projects'));
    await mirror.cancel();
    expect((await exporting).runs[0]!.outcome).toBe('cancelled');
    await until(async () => (await mirror.describe()).status.name === 'CANCELLED', 'the mirror has ended');
    held.release();
  });

  it('uses a newly configured page size, and remembers a smaller one that the service accepts', async () => {
    stack = await startStack({
      s3: true,
      simulator: { counts: { projects: 30 }, tooLargeLimit: 'refuse', pageMax: 20 },
      resources: '[projects]',
      yaml: '    sync: { pageSize: 40 }\n',
    });
    const { admin } = stack.simulator;
    const limits = () => {
      const found = admin.stats().recent.flatMap(({ path }) => /limit=(\d+)/.exec(path)?.[1] ?? []);
      admin.resetStats();
      return found;
    };
    const first = await stack.startWorker();
    await stack.export();
    expect(limits()).toEqual(['40', '20', '20']);
    await stack.export({ full: true });
    // The last request is for the changes since the checkpoint.
    expect(limits()).toEqual(['20', '20', '20']);
    await first.stop();
    const [connection] = stack.settings.connections;
    const smaller = { ...connection!, sync: { ...connection!.sync, pageSize: 15 } };
    await stack.startWorker({ ...stack.settings, connections: [smaller] });
    await stack.export({ full: true });
    expect(limits()).toEqual(['15', '15', '15']);
  });
});
