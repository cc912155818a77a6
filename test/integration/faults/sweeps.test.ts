import { describe, expect, it, type TestContext } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { readPointer } from '../../../src/lake/documents/pointer.js';
import type { LateRequest } from '../../support/late-requests.js';
import { type LateWorld, RESOURCE, startLateWorld } from '../../support/late-world.js';
import type { ManualMirror } from '../../support/manual-mirror.js';
import { drawn } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { nextSecond } from '../../support/stack.js';

shortenBackOffs();

/** The tests run side by side, because they wait for seconds, each in another lake. */
async function startWorld({ onTestFinished }: TestContext): Promise<LateWorld> {
  const world = await startLateWorld();
  onTestFinished(() => world.stop());
  return world;
}

async function objects({ mirror }: LateWorld, prefix = ''): Promise<ObjectKey[]> {
  const keys: ObjectKey[] = [];
  for await (const { key } of mirror.store.list(prefix)) keys.push(key);
  return keys;
}

async function objectsOf(
  world: LateWorld,
  run: RunId,
  tree: 'snapshots' | 'changes' = 'changes',
): Promise<string[]> {
  return (await objects(world, `${RESOURCE}/${tree}/`)).filter((key) => key.includes(`run=${run}/`));
}

async function head({ mirror }: LateWorld): Promise<RunId | undefined> {
  return (await readPointer(mirror.store, RESOURCE))?.runId;
}

/** A run that fails while its swap is on its way. */
async function failedRun(world: LateWorld): Promise<{ readonly runId: RunId; readonly late: LateRequest }> {
  const { mirror } = world;
  world.change();
  const input = await mirror.merge();
  const lost = mirror.lose({ activity: 'worktrack.publish', write: /latest\.json/, outcome: 'fails' });
  await expect(mirror.step('worktrack.publish', input)).rejects.toThrow('the network is lost');
  await mirror.settle();
  return { runId: input.runId, late: lost.late! };
}

async function nextRun(world: LateWorld, mirror: ManualMirror = world.mirror): Promise<RunId> {
  await nextSecond();
  world.change();
  return (await mirror.run()).runId;
}

/** Runs that the mirror publishes, oldest first. */
async function runs(world: LateWorld, count: number): Promise<RunId[]> {
  const ids: RunId[] = [];
  for (let n = 0; n < count; n++) ids.push(await nextRun(world));
  return ids;
}

describe.concurrent('a late swap', () => {
  it('publishes a complete run after a sweep, as long as nothing else was published', async (context) => {
    const world = await startWorld(context);
    const { mirror } = world;
    await runs(world, 1);
    await nextSecond();
    const { runId, late } = await failedRun(world);
    await nextSecond();
    const swept = await mirror.sweep();
    expect(swept.folders).toBe(0);
    expect(await late.deliver()).toBe(200);
    expect(await head(world)).toBe(runId);
    await world.check();
    await nextRun(world);
    expect(await objectsOf(world, runId)).not.toEqual([]);
    await world.check();
    await world.checkTidy();
  });

  it('is rejected after the next run, whose sweep has removed the failed one', async (context) => {
    const world = await startWorld(context);
    await runs(world, 1);
    await nextSecond();
    const { runId, late } = await failedRun(world);
    const next = await nextRun(world);
    expect([...(await objectsOf(world, runId)), ...(await objectsOf(world, runId, 'snapshots'))]).toEqual([]);
    expect(await late.deliver()).toBe(412);
    expect(await head(world)).toBe(next);
    await world.check();
    await world.checkTidy();
  });

  const orders = [
    [0, 1],
    [1, 0],
  ] as const;
  it.for(drawn(orders, 1))(
    'a late swap of each of two failed runs leads to a consistent lake, in the order %i, %i',
    async ([first, second], context) => {
      const world = await startWorld(context);
      const { mirror } = world;
      await runs(world, 1);
      await nextSecond();
      const failed = [await failedRun(world), await failedRun(world)];
      await nextSecond();
      await mirror.sweep();
      expect(await failed[first]!.late.deliver()).toBe(200);
      expect(await failed[second]!.late.deliver()).toBe(412);
      expect(await head(world)).toBe(failed[first]!.runId);
      const next = await nextRun(world);
      expect(await head(world)).toBe(next);
      expect(await objectsOf(world, failed[first]!.runId)).not.toEqual([]);
      expect(await objectsOf(world, failed[second]!.runId)).toEqual([]);
      await world.check();
      await world.checkTidy();
    },
  );
});

describe.concurrent('a sweep keeps the change logs of published runs', () => {
  const manifests = [
    { lost: 'of the change log', trees: ['changes'] },
    { lost: 'of change log and snapshot', trees: ['changes', 'snapshots'] },
  ] as const;
  it.for(drawn(manifests, 1))(
    'a sweep keeps the change logs of published runs if the manifest $lost is lost',
    async ({ trees }, context) => {
      const world = await startWorld(context);
      const ids = await runs(world, 4);
      const lost = ids[1]!;
      for (const tree of trees) {
        const keys = await objectsOf(world, lost, tree);
        await world.mirror.store.remove(
          keys.filter((key) => key.endsWith('_datapackage.json')) as ObjectKey[],
        );
      }
      const before = await objectsOf(world, lost);
      expect(before).not.toEqual([]);
      ids.push(...(await runs(world, 2)));
      expect(await objectsOf(world, lost)).toEqual(before);
      for (const id of ids) expect(await objectsOf(world, id), id).not.toEqual([]);
    },
  );

  it('a sweep keeps the change logs of published runs if latest.json is restored from an earlier version and adopted', async (context) => {
    const world = await startWorld(context);
    const { store } = world.mirror;
    const ids = await runs(world, 2);
    const earlier = await store.read(pointerKey(RESOURCE));
    ids.push(...(await runs(world, 2)));
    const logs = (await Promise.all(ids.map((id) => objectsOf(world, id)))).flat();
    await store.write(pointerKey(RESOURCE), earlier);
    await nextSecond();
    // The sweep after a purge does nothing either.
    expect((await world.mirror.sweep()).folders).toBe(0);
    await expect(world.mirror.run()).rejects.toThrow('restored from an earlier version');
    await world.mirror.run({ adopt: true });
    await runs(world, 2);
    expect(await objects(world, `${RESOURCE}/changes/`)).toEqual(expect.arrayContaining(logs));
    await world.check();
  });

  it.for(drawn(['the same', 'a new'], 1))(
    'a sweep keeps the change logs of published runs if latest.json is lost, and %s mirror begins again',
    async (which, context) => {
      const world = await startWorld(context);
      const { store } = world.mirror;
      const ids = await runs(world, 3);
      const logs = (await Promise.all(ids.map((id) => objectsOf(world, id)))).flat();
      await store.remove([pointerKey(RESOURCE)]);
      const mirror = which === 'the same' ? world.mirror : world.other();
      if (which === 'a new') mirror.clock = world.mirror.clock + 10_000;
      await nextSecond();
      await mirror.run({ adopt: true });
      await nextRun(world, mirror);
      expect(await objects(world, `${RESOURCE}/changes/`)).toEqual(expect.arrayContaining(logs));
      await world.check();
    },
  );
});

describe.concurrent('a displaced mirror', () => {
  it('removes nothing when it sweeps', async (context) => {
    const world = await startWorld(context);
    const { mirror } = world;
    await runs(world, 2);
    await nextSecond();
    await failedRun(world);
    const other = world.other();
    other.clock = mirror.clock + 10_000;
    await nextSecond();
    await other.publish();
    const before = await objects(world);
    expect(await mirror.sweep()).toMatchObject({ folders: 0, staged: 0, strays: 0, isDone: true });
    expect(await objects(world)).toEqual(before);
    // The other mirror removes what it left.
    await nextSecond();
    await nextRun(world, other);
    await world.check();
    await world.checkTidy();
  });
});
