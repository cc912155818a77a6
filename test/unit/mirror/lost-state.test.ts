import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { listRuns } from '../../../src/lake/published/run-folders.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer, readSnapshot, runsIn } from '../../support/snapshot.js';
import { newWriter } from '../../support/writer.js';

const DAY = 86_400_000;
const LATEST = pointerKey('tasks');

async function start(): Promise<InProcessMirror> {
  return InProcessMirror.start({
    simulator: { seed: 7, awkward: false, counts: { tasks: 6 } },
    resource: 'tasks',
    yaml: 'tasks',
  });
}

describe('A mirror without state in a lake without latest.json', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function lose(nights: number): Promise<void> {
    mirror = await start();
    for (let night = 0; night < nights; night++) {
      await mirror.run();
      mirror.clock += DAY;
    }
    await mirror.store.remove([LATEST]);
    loseState(mirror);
  }

  it.each([1, 2, 3])('stops until --adopt if the lake has runs (%i)', async (nights) => {
    await lose(nights);
    const before = await runsIn(mirror.store, 'tasks', 'changes');
    for (const request of [() => mirror.run(), () => mirror.purge('1'), () => mirror.run()])
      await expect(request()).rejects.toMatchObject({
        type: 'Displaced',
        message: expect.stringMatching(/latest\.json is missing, but the lake has runs of tasks, .*--adopt/),
      });
    await mirror.run({ adopt: true });
    expect((await readSnapshot(mirror.store, 'tasks')).rows).toHaveLength(6);
    const { leftBehind } = (await mirror.current()).manifest;
    expect(leftBehind.map((run) => `run=${run}`)).toEqual(before.sort().slice(-1));
    mirror.clock += DAY;
    await mirror.run();
    expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
  });

  it('stops even if the manifest of the newest change log is damaged', async () => {
    mirror = await start();
    await mirror.run();
    mirror.clock += DAY;
    await mirror.run();
    const { changes } = await readPointer(mirror.store, 'tasks');
    await mirror.store.remove([LATEST]);
    loseState(mirror);
    await mirror.store.write(changes!, Buffer.from('{'));
    await expect(mirror.run()).rejects.toMatchObject({ type: 'Displaced' });
  });

  it('removes no change log in a purge while its manifest is lost', async () => {
    mirror = await start();
    await mirror.run();
    const { changes } = await readPointer(mirror.store, 'tasks');
    mirror.clock += DAY;
    await mirror.run();
    await mirror.store.remove([LATEST, changes!]);
    loseState(mirror);
    const before = await runsIn(mirror.store, 'tasks', 'changes');
    const id = mirror.simulator.admin.records('tasks').map(idOf)[0]!;
    await expect(mirror.purge(id)).rejects.toMatchObject({ type: 'Displaced' });
    expect(await runsIn(mirror.store, 'tasks', 'changes')).toEqual(before);
  });

  it.each([false, true])(
    'begins if the only run in the lake is its own first one, which failed before its swap (adopt: %s)',
    async (adopt) => {
      mirror = await start();
      await mirror.merged();
      const { publish } = await mirror.merged();
      await publish();
      await mirror.store.remove([LATEST]);
      expect((await mirror.run({ adopt })).counts.rows).toBe(6);
      expect((await mirror.current()).manifest.leftBehind).toEqual([]);
    },
  );
});

describe('A mirror without state in a lake whose latest.json was restored from an earlier version', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it.each([2, 3])('keeps the runs that were published after it (%i)', async (nights) => {
    mirror = await start();
    await mirror.run();
    const earlier = await mirror.store.read(LATEST);
    for (let night = 0; night < nights; night++) {
      mirror.clock += DAY;
      await mirror.run();
    }
    const before = await runsIn(mirror.store, 'tasks', 'changes');
    await makeOlder(mirror.folder);
    await mirror.store.write(LATEST, earlier);
    loseState(mirror);
    mirror.clock += DAY;
    const { runId } = await mirror.run();
    await mirror.sweep();
    const after = await runsIn(mirror.store, 'tasks', 'changes');
    expect(after.sort()).toEqual([...before, `run=${runId}`].sort());
  });
});

function loseState(mirror: InProcessMirror): void {
  mirror.writer = newWriter();
  mirror.published = null;
  mirror.checkpoint = null;
}

/** A store shows whole seconds, so what was written in one of them has no order. */
async function makeOlder(folder: string): Promise<void> {
  const earlier = new Date(Date.now() - DAY);
  for (const one of await readdir(join(folder, 'lake'), { recursive: true, withFileTypes: true }))
    if (one.isFile()) await utimes(join(one.parentPath, one.name), earlier, earlier);
}

describe('If both manifests of the published run are lost', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function lose() {
    mirror = await start();
    const { runId: first } = await mirror.run();
    const earlier = await mirror.store.read(LATEST);
    mirror.clock += DAY;
    await mirror.run();
    const { snapshot, changes } = await readPointer(mirror.store, 'tasks');
    const log = await mirror.store.read(changes!);
    await mirror.store.remove([snapshot, changes!]);
    mirror.clock += DAY;
    return { first, earlier, changes: changes!, log };
  }

  it.each(['a run', 'a rollback'])('%s names what works', async (which) => {
    const { first } = await lose();
    const ended = which === 'a run' ? mirror.run() : mirror.rollBack(first);
    await expect(ended).rejects.toThrow(
      /Restore one of them and run `worktrack rollback`; or restore an earlier version of tasks\/latest\.json .*--adopt/,
    );
  });

  it('the manifest of the change log is enough for a rollback', async () => {
    const { first, changes, log } = await lose();
    await mirror.store.write(changes, log);
    await expect(mirror.run()).rejects.toThrow('earlier run with `worktrack rollback`');
    await mirror.rollBack(first);
    mirror.clock += DAY;
    await mirror.run();
    expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
  });

  it('an earlier latest.json and --adopt continue', async () => {
    const { earlier } = await lose();
    await mirror.store.write(LATEST, earlier);
    await expect(mirror.run()).rejects.toMatchObject({ type: 'Displaced' });
    await mirror.run({ adopt: true });
    mirror.clock += DAY;
    await mirror.run();
    expect((await readSnapshot(mirror.store, 'tasks')).rows).toHaveLength(6);
  });
});

describe("A sweep while Temporal's clock is 40 days ahead", () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  it.each([true, false])('expires no snapshot (run in memory: %s)', async (inMemory) => {
    mirror = await start();
    const id = mirror.simulator.admin.records('tasks').map(idOf)[0]!;
    const runs: string[] = [];
    for (const title of ['one', 'two', 'three', 'four', 'five']) {
      mirror.simulator.admin.update('tasks', id, { title });
      if (title === 'five') mirror.clock += 40 * DAY;
      runs.push((await mirror.run({ inMemory })).runId);
      await mirror.sweep();
      mirror.clock += DAY / 24;
    }
    const kept = [...(await listRuns(mirror.store, 'tasks', 'snapshots')).keys()];
    expect(kept.sort()).toEqual(runs.sort());
  });
});
