import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../src/core/brands.js';
import { folderOf, inFolder, MANIFEST } from '../../src/lake/layout.js';
import { verifySnapshot } from '../../src/lake/verify.js';
import { readPointer, readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';

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

  /** Puts a run's folders into the past, and makes it the one before `next` on the chain. */
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
    const manifest = JSON.parse((await stack.store.read(key)).toString()) as { worktrack: object };
    Object.assign(manifest.worktrack, values);
    await stack.store.write(key, Buffer.from(JSON.stringify(manifest)), { contentType: 'application/json' });
  }

  it('removes what the settings no longer keep, whole, and leaves change logs and the rest alone', async () => {
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
    // A run of the same day as the last one that never was published, though its folder looks as if it were.
    const stray = await backdate(from, noon - 4 * DAY + 7_200_000, null);
    const changes = await tree('changes');

    stack.simulator.admin.touch('projects', { count: 2, pick: 'spread' });
    const result = await stack.export();
    expect(result.outcome).toBe('published');

    const left = (await tree('snapshots')).map((path) => path.replace(/.*run=/, ''));
    expect(left).not.toContain(runs[0]);
    expect(left).not.toContain(runs[1]);
    // Two runs of one second have no order by name.
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
