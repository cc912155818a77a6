import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { encodeReplacement, manifestChecksums } from '../../../src/lake/documents/checksums.js';
import { folderOf, inFolder, MANIFEST, pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { startPurge } from '../../../src/temporal/client/start.js';
import { readNewestView } from '../../support/newest-view.js';
import { startWorkerProcess } from '../../support/processes.js';
import { readPointer, readSnapshot, runsIn } from '../../support/snapshot.js';
import { nextSecond, type Stack, startStack } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;

interface RunAt {
  readonly runId: RunId;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
}

/** Changes fields of a manifest whose checksum is nowhere else. */
async function change(store: ObjectStore, key: ObjectKey, values: object): Promise<void> {
  const body = await store.read(key);
  const manifest = JSON.parse(body.toString()) as { worktrack: object };
  Object.assign(manifest.worktrack, values);
  await store.write(key, encodeReplacement(body, manifest));
}

/** Makes the published run follow other ones, newest first. */
async function putAfter(store: ObjectStore, previousRuns: readonly RunAt[]): Promise<void> {
  const pointer = await readPointer(store, 'projects');
  const values = { previousRuns, previousRunId: previousRuns[0]!.runId };
  for (const key of [pointer.snapshot, pointer.changes!]) await change(store, key, values);
  const manifests = await manifestChecksums(store, pointer);
  const body = encodePointer({ ...pointer, manifests });
  await store.write(pointerKey('projects'), body);
}

describe('the sweep after an export', () => {
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

  /** Copies a run's folders into the past. */
  async function backdate(
    from: { snapshot: ObjectKey; changes: ObjectKey },
    at: number,
    previousRuns: readonly RunAt[],
  ) {
    const time = new Date(at).toISOString();
    const runId = `${time.replace(/[-:]|\.\d+/g, '')}-00000000` as RunId;
    for (const manifest of [from.snapshot, from.changes]) {
      const root = manifest.startsWith('projects/snapshots/') ? 'snapshots' : 'changes';
      const folder = `projects/${root}/dt=${time.slice(0, 10)}/run=${runId}` as ObjectKey;
      for await (const { key } of stack.store.list(`${folderOf(manifest)}/`)) {
        await stack.store.copy(key, `${folder}${key.slice(folderOf(manifest).length)}` as ObjectKey);
      }
      const previousRunId = previousRuns[0]?.runId ?? null;
      const values = { runId, publishedAt: time, previousRunId, previousRuns };
      await change(stack.store, inFolder(folder, MANIFEST), values);
    }
    return runId;
  }

  it('removes expired snapshots completely, and keeps change logs and all other objects', async () => {
    await stack.export();
    const first = await readPointer(stack.store, 'projects');
    const from = { snapshot: first.snapshot, changes: first.changes! };
    const noon = Math.floor(Date.now() / DAY) * DAY - DAY / 2;
    const times = [40 * DAY, 5 * DAY + 3_600_000, 5 * DAY, 4 * DAY].map((ago) => noon - ago);
    const runs: RunId[] = [];
    let previous: RunAt[] = [];
    for (const at of times) {
      const runId = await backdate(from, at, previous);
      runs.push(runId);
      previous = [{ runId, publishedAt: at }, ...previous];
    }
    await putAfter(stack.store, previous);
    // An unpublished run of the same day as the last one, whose folder looks like a published one.
    const stray = await backdate(from, noon - 4 * DAY + 7_200_000, []);
    const changes = (await tree('changes')).filter((path) => !path.includes(stray));
    // The store shows whole seconds, and what was written in the second of the next run's first object waits for the next sweep.
    await nextSecond();

    stack.simulator.admin.touch('projects', { count: 2, pick: 'spread' });
    // A run in memory would not sweep again on the same day.
    const result = await stack.export({ full: true });
    expect(result.outcome).toBe('published');

    const left = (await tree('snapshots')).map((path) => path.replace(/.*run=/, ''));
    expect(left).not.toContain(runs[0]);
    expect(left).not.toContain(runs[1]);
    // The ids of two runs of the same second have no order.
    expect(left.sort()).toEqual([runs[2], runs[3], first.runId, result.runs[0]!.runId].sort());
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
    const ages = [40 * DAY, DAY + DAY / 24];
    const previous = ages.map((age, run) => ({ runId: runs[run]!.runId, publishedAt: Date.now() - age }));
    await putAfter(stack.store, previous.toReversed());
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
