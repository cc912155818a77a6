import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { folderOf, pointerKey } from '../../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';

const DAY = 86_400_000;
const LATEST = pointerKey('tasks');

describe('What was published stays restorable', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function start(): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { tasks: 6 } },
      resource: 'tasks',
      yaml: 'tasks',
    });
  }

  async function keysIn(prefix: string): Promise<ObjectKey[]> {
    const keys: ObjectKey[] = [];
    for await (const { key } of mirror.store.list(prefix)) keys.push(key);
    return keys;
  }

  it.each(['an earlier run', 'the head'])(
    'What was published stays restorable when a record is purged while the manifest of the change log of %s is lost',
    async (which) => {
      await start();
      const { admin } = mirror.simulator;
      const ids = admin.records('tasks').map(idOf) as [string, string];
      await mirror.run();
      mirror.clock += DAY;
      admin.update('tasks', ids[0], { title: 'of the second night' });
      await mirror.run();
      const lost = (await readPointer(mirror.store, 'tasks')).changes!;
      if (which === 'an earlier run') {
        mirror.clock += DAY;
        admin.update('tasks', ids[0], { title: 'of the third night' });
        await mirror.run();
      }
      const body = await mirror.store.read(lost);
      await mirror.store.remove([lost]);
      const before = await keysIn('tasks/');
      expect(await keysIn(folderOf(lost))).not.toEqual([]);
      admin.remove('tasks', [ids[1]]);
      await expect(mirror.purge(ids[1])).rejects.toThrow(`${lost} is missing`);
      await mirror.sweep({ before: mirror.newestId });
      expect(await keysIn('tasks/')).toEqual(before);
      await mirror.store.write(lost, body);
      await mirror.purge(ids[1]);
      expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
    },
  );

  it.each([false, true])(
    'A purge stops while the manifest of a snapshot is lost (its chain was left behind: %s)',
    async (isLeft) => {
      await start();
      const { admin } = mirror.simulator;
      const ids = admin.records('tasks').map(idOf) as [string, string];
      await mirror.run();
      const earlier = await mirror.store.read(LATEST);
      mirror.clock += DAY;
      await mirror.run();
      const { snapshot: lost } = await readPointer(mirror.store, 'tasks');
      mirror.clock += DAY;
      if (isLeft) await mirror.store.write(LATEST, earlier);
      await mirror.run({ adopt: isLeft });
      const body = await mirror.store.read(lost);
      await mirror.store.remove([lost]);
      const before = await keysIn('tasks/');
      admin.remove('tasks', [ids[1]]);
      await expect(mirror.purge(ids[1])).rejects.toThrow(`${lost} is missing`);
      expect(await keysIn('tasks/')).toEqual(before);
      await mirror.store.write(lost, body);
      await mirror.purge(ids[1]);
      expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
    },
  );

  it('A purge stops while a change log that was left behind has no manifest', async () => {
    await start();
    const ids = mirror.simulator.admin.records('tasks').map(idOf) as [string, string];
    await mirror.run();
    const earlier = await mirror.store.read(LATEST);
    const left: ObjectKey[] = [];
    for (let night = 0; night < 2; night++) {
      mirror.clock += DAY;
      await mirror.run();
      left.push((await readPointer(mirror.store, 'tasks')).changes!);
    }
    await mirror.store.write(LATEST, earlier);
    mirror.clock += DAY;
    await mirror.run({ adopt: true });
    for (const key of left) {
      const body = await mirror.store.read(key);
      await mirror.store.remove([key]);
      await expect(mirror.purge(ids[1])).rejects.toThrow(`${key} is missing`);
      await mirror.store.write(key, body);
    }
    mirror.simulator.admin.remove('tasks', [ids[1]]);
    await mirror.purge(ids[1]);
  });

  it.each([
    ['lost', false],
    ['restored from an earlier version', true],
  ])(
    'What was published stays restorable when latest.json is %s before a run whose swap had no answer sends it again',
    async (_, isRestored) => {
      await start();
      await mirror.run();
      const earlier = await mirror.store.read(LATEST);
      await mirror.run();
      const added = mirror.simulator.admin.create('tasks', { title: 'added' });
      const { ref, publish } = await mirror.merged();
      await publish();
      const newest = await mirror.store.read(LATEST);
      if (isRestored) await mirror.store.write(LATEST, earlier);
      else await mirror.store.remove([LATEST]);
      await expect(publish()).rejects.toMatchObject({ type: 'Displaced' });
      await mirror.step('worktrack.sweepFailedRun', {
        ...ref,
        nominalStart: mirror.clock,
        staging: 'removed',
      });
      await mirror.store.write(LATEST, newest);
      expect((await verifySnapshot(mirror.store, 'tasks')).problems).toEqual([]);
      expect((await readSnapshot(mirror.store, 'tasks')).rows.map(({ id }) => id)).toContain(added);
    },
  );

  it('What a run wrote stays if it is discarded while the swap that its journal announces may still arrive', async () => {
    await start();
    await mirror.run();
    const added = mirror.simulator.admin.create('tasks', { title: 'added' });
    const { ref, publish } = await mirror.merged();
    const { store } = mirror;
    let late: (() => ReturnType<ObjectStore['swap']>) | null = null;
    const swap = store.swap.bind(store);
    const lost = vi.spyOn(store, 'swap').mockImplementation(async (...given) => {
      if (given[0] !== LATEST) return swap(...given);
      late = () => swap(...given);
      throw new Error('the network is lost');
    });
    await expect(publish()).rejects.toThrow('the network is lost');
    lost.mockRestore();
    await mirror.step('worktrack.sweepFailedRun', { ...ref, nominalStart: mirror.clock, staging: 'removed' });
    expect(await late!()).toMatchObject({ outcome: 'written' });
    expect((await verifySnapshot(store, 'tasks')).problems).toEqual([]);
    expect((await readSnapshot(store, 'tasks')).rows.map(({ id }) => id)).toContain(added);
  });

  it('a run whose swap was lost to another one is removed immediately', async () => {
    await start();
    await mirror.run();
    const { ref, publish } = await mirror.merged();
    const earlier = await mirror.store.read(LATEST);
    await publish();
    await mirror.store.write(LATEST, earlier);
    await mirror.run();
    await mirror.step('worktrack.sweepFailedRun', { ...ref, nominalStart: mirror.clock, staging: 'removed' });
    expect((await keysIn('tasks/')).filter((key) => key.includes(ref.runId))).toEqual([]);
  });

  it.each([false, true])(
    'What was published stays restorable when its chain is left behind by a restored latest.json (manifest of the last change log lost: %s)',
    async (isLost) => {
      await start();
      const { admin } = mirror.simulator;
      const id = admin.records('tasks').map(idOf)[0]!;
      await mirror.run();
      const earlier = await mirror.store.read(LATEST);
      mirror.clock += DAY;
      admin.update('tasks', id, { title: 'of the second night' });
      const { runId: second } = await mirror.run();
      mirror.clock += DAY;
      admin.update('tasks', id, { title: 'of the third night' });
      await mirror.run();
      if (isLost) await mirror.store.remove([(await readPointer(mirror.store, 'tasks')).changes!]);
      await mirror.store.write(LATEST, earlier);
      mirror.clock += DAY;
      await expect(mirror.run()).rejects.toMatchObject({ type: 'Displaced' });
      const before = (await keysIn('tasks/')).filter((key) => key.includes(second));
      await mirror.run({ adopt: true });
      await mirror.sweep();
      expect((await keysIn('tasks/')).filter((key) => key.includes(second))).toEqual(before);
    },
  );
});
