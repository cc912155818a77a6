import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { encodeReplacement } from '../../../src/lake/published/checksums.js';
import { folderOf, inFolder, MANIFEST } from '../../../src/lake/published/layout.js';
import type { Pointer } from '../../../src/lake/published/pointer.js';
import { verifySnapshot } from '../../../src/lake/verify/verify.js';
import { startPurge } from '../../../src/temporal/client/start.js';
import { readNewestView } from '../../support/newest-view.js';
import { startWorkerProcess } from '../../support/processes.js';
import { readPointer, readSnapshot, runsIn } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;

describe('the clean-up after an export', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      simulator: { seed: 11, counts: { projects: 30 } },
      resources: '[projects]',
      yaml: '    retention: { snapshots: 30d, keep: last }\n',
    });
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  const tree = async (name: 'snapshots' | 'changes'): Promise<string[]> => {
    const runs: string[] = [];
    for (const date of await stack.store.listFolders(`projects/${name}/`)) {
      for (const run of await stack.store.listFolders(`projects/${name}/${date}/`))
        runs.push(`${date}/${run}`);
    }
    return runs;
  };

  /** Moves a run's folders into the past, and puts it before `next` in the chain. */
  async function backdate(
    from: { snapshot: ObjectKey; changes: ObjectKey },
    at: number,
    previous: RunId | null,
  ) {
    const time = new Date(at).toISOString();
    const runId = `${time.replace(/[-:]|\.\d+/g, '')}-00000000` as RunId;
    for (const manifest of [from.snapshot, from.changes]) {
      const root = manifest.startsWith('projects/snapshots/') ? 'snapshots' : 'changes';
      const folder = `projects/${root}/dt=${time.slice(0, 10)}/run=${runId}` as ObjectKey;
      for await (const { key } of stack.store.list(`${folderOf(manifest)}/`)) {
        await stack.store.copy(key, `${folder}${key.slice(folderOf(manifest).length)}` as ObjectKey);
      }
      await relink(inFolder(folder, MANIFEST), { runId, publishedAt: time, previousRunId: previous });
    }
    return runId;
  }

  async function relink(key: ObjectKey, values: object): Promise<void> {
    const body = await stack.store.read(key);
    const manifest = JSON.parse(body.toString()) as { worktrack: object };
    Object.assign(manifest.worktrack, values);
    await stack.store.write(key, encodeReplacement(body, manifest), { contentType: 'application/json' });
  }

  it('removes expired snapshots completely, and keeps change logs and all other objects', async () => {
    await stack.export();
    const first = await readPointer(stack.store, 'projects');
    const from = { snapshot: first.snapshot, changes: first.changes! };
    const noon = Math.floor(Date.now() / DAY) * DAY - DAY / 2;
    const times = [40 * DAY, 5 * DAY + 3_600_000, 5 * DAY, 4 * DAY].map((ago) => noon - ago);
    let previous: RunId | null = null;
    const runs: RunId[] = [];
    for (const at of times) {
      previous = await backdate(from, at, previous);
      runs.push(previous);
    }
    await relink(first.changes!, { previousRunId: previous });
    // An unpublished run of the same day as the last one, whose folder looks like a published one.
    const stray = await backdate(from, noon - 4 * DAY + 7_200_000, null);
    const changes = await tree('changes');

    stack.simulator.admin.touch('projects', { count: 2, pick: 'spread' });
    // A short run would not look for a snapshot that became old without time passing.
    const result = await stack.export({ full: true });
    expect(result.outcome).toBe('published');

    const left = (await tree('snapshots')).map((path) => path.replace(/.*run=/, ''));
    expect(left).not.toContain(runs[0]);
    expect(left).not.toContain(runs[1]);
    // The ids of two runs of the same second have no order.
    expect(left.sort()).toEqual([runs[2], runs[3], stray, first.runId, result.runs[0]!.runId].sort());
    const kept: string[] = [];
    for await (const { key } of stack.store.list('projects/snapshots/')) kept.push(key);
    expect(kept.filter((key) => key.includes(runs[0]!) || key.includes(runs[1]!))).toEqual([]);
    const logs = (await tree('changes')).filter((path) => !path.includes(result.runs[0]!.runId!));
    expect(logs).toEqual(changes);
    expect((await readSnapshot(stack.store, 'projects')).rows.length).toBe(30);
    expect((await verifySnapshot(stack.store, 'projects')).problems).toEqual([]);
  });
});

describe('the newest rows of the change logs', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('are the rows of the snapshot after retention removed the first snapshots, and after a purge', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 30 } },
      resources: '[projects]',
      yaml: '    retention: { snapshots: 30d, keep: all }\n    sync: { overlap: 1s }\n',
    });
    await stack.startWorker();
    const { admin } = stack.simulator;
    const runs: Pointer[] = [];
    for (let n = 0; n < 3; n++) {
      expect((await stack.export()).outcome).toBe('published');
      runs.push(await readPointer(stack.store, 'projects'));
      admin.touch('projects', { count: 2, pick: 'spread' });
    }
    // The first run is 40 days old, and the second superseded it 25 hours ago.
    for (const [run, age] of [40 * DAY, DAY + DAY / 24].entries()) {
      const publishedAt = new Date(Date.now() - age).toISOString();
      for (const manifest of [runs[run]!.snapshot, runs[run]!.changes!]) {
        const body = await stack.store.read(manifest);
        const json = JSON.parse(body.toString()) as { worktrack: object };
        Object.assign(json.worktrack, { publishedAt });
        await stack.store.write(manifest, encodeReplacement(body, json), { contentType: 'application/json' });
      }
    }
    expect((await stack.export({ full: true })).outcome).toBe('published');
    expect(await stack.store.head(runs[0]!.snapshot)).toBeNull();
    expect(await stack.store.head(runs[1]!.snapshot)).not.toBeNull();
    const kept = await readNewestView(stack, 'projects');
    expect(kept.snapshot.size).toBe(30);
    expect(kept.newest).toEqual(kept.snapshot);

    const [id] = [...kept.snapshot.keys()];
    admin.remove('projects', [id!]);
    const { connection, taskQueue, temporal } = stack;
    const purge = await startPurge(temporal, { connection, resource: 'projects', key: [id!] }, { taskQueue });
    await temporal.client.workflow.getHandle(purge).result();
    const purged = await readNewestView(stack, 'projects');
    expect(purged.snapshot.size).toBe(29);
    expect(purged.newest).toEqual(purged.snapshot);
  });
});

describe('retention by a worker whose clock is 31 days ahead', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('removes nothing, because the time comes from Temporal', async () => {
    stack = await startStack({
      simulator: { counts: { projects: 10 } },
      resources: '[projects]',
      yaml: '    retention: { snapshots: 30d, keep: all }\n',
    });
    const worker = await stack.startWorker();
    for (let n = 0; n < 3; n++) expect((await stack.export()).outcome).toBe('published');
    await worker.stop();
    const late = await startWorkerProcess(stack, {
      NODE_OPTIONS: `--require ${fileURLToPath(new URL('../../support/shifted-clock.cjs', import.meta.url))}`,
      WORKTRACK_TEST_CLOCK_OFFSET: String(31 * DAY),
    });
    const before = Date.now();
    // A full export does not take the short path, so activities of this worker look for expired snapshots.
    expect((await stack.export({ full: true })).outcome).toBe('published');
    expect(await runsIn(stack.store, 'projects')).toHaveLength(4);
    const publishedAt = Date.parse((await readPointer(stack.store, 'projects')).publishedAt);
    expect(publishedAt - before).toBeLessThan(DAY);
    await late.signal('SIGTERM');
  });
});
