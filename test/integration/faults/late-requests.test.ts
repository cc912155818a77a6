import { describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../../src/core/duration.js';
import { errorMessage } from '../../../src/core/errors.js';
import { inParallel } from '../../../src/core/in-parallel.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { type LateWorld, RESOURCE, startLateWorld } from '../../support/late-world.js';
import type { Loss, Lost } from '../../support/manual-mirror.js';
import { drawn, IS_LONG, SEED } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { nextSecond } from '../../support/stack.js';

shortenBackOffs();

const AT_ONCE = 4;
/** Writes of an activity that are late in `npm test`. */
const MOST_WRITES = 3;
/** When the request that was in flight arrives. */
const WHEN = ['when the next attempt has finished', 'after another run'] as const;

interface Scenario {
  /** Of the configuration. Default: one resource without settings. */
  readonly resources?: string;
  /** Runs before the activity, without faults. */
  readonly before?: (world: LateWorld) => Promise<void>;
  /** A late object stays in the folder of an unpublished run until the next sweep. */
  readonly untilSweep?: true;
  /** Runs the activity whose attempt is replaced. */
  readonly act: (world: LateWorld) => Promise<void>;
  /** Checks the result. */
  readonly after?: (world: LateWorld) => Promise<void>;
}

/**
 * Repeats an activity once for each of its writes, and delays that write: the attempt that sent it loses the network,
 * another attempt takes over and finishes, and only then does the store receive the request. `npm run test:long` tries both
 * times of its arrival for each write of each activity, and `npm test` one of them, for a few writes of a few activities, which
 * change with the seed.
 *
 * @returns the number of writes
 */
async function everyWriteLate(activity: Loss['activity'], scenario: Scenario): Promise<number> {
  const writes = await inWorld(scenario, async (world) => {
    const { writes } = await actLosing(world, activity, Number.POSITIVE_INFINITY, scenario);
    return writes;
  });
  const delivered = await inParallel(triesOf(writes), AT_ONCE, ([write, when]) =>
    inWorld(scenario, (world) => oneLate(world, activity, write, when, scenario)),
  );
  // An activity may write a little less in one world than in another.
  expect(delivered.filter(Boolean).length).toBeGreaterThan(0.5 * delivered.length);
  return writes;
}

/** The writes that are late, and when they arrive. */
function triesOf(writes: number): readonly (readonly [write: number, when: (typeof WHEN)[number]])[] {
  const all = Array.from({ length: writes }, (_, write) => write);
  if (IS_LONG) return all.flatMap((write) => WHEN.map((when) => [write, when] as const));
  return drawn(all, MOST_WRITES).map((write, at) => [write, WHEN[(at + SEED) % 2]!] as const);
}

/** Does something in a world where the runs before the activity have ended. */
async function inWorld<T>(
  { before, resources }: Scenario,
  use: (world: LateWorld) => Promise<T>,
): Promise<T> {
  const world = await startLateWorld(undefined, resources);
  try {
    await world.mirror.run();
    await before?.(world);
    return await use(world);
  } finally {
    await world.stop();
  }
}

/** Runs the activity, and an attempt that takes over if one of its writes is held. */
async function actLosing(
  world: LateWorld,
  activity: Loss['activity'],
  write: number,
  { act }: Scenario,
): Promise<Lost> {
  const lost = world.mirror.lose({ activity, write });
  await act(world);
  await world.mirror.settle();
  return lost;
}

async function oneLate(
  world: LateWorld,
  activity: Loss['activity'],
  write: number,
  when: (typeof WHEN)[number],
  scenario: Scenario,
): Promise<boolean> {
  const { mirror } = world;
  const { late } = await actLosing(world, activity, write, scenario);
  if (late === null) return false;
  if (when === 'after another run') {
    world.change();
    await mirror.run();
  }
  await late.deliver();
  // A sweep removes what was written in an earlier second than its run.
  await nextSecond();
  try {
    const isClean = mirror.published !== null && scenario.untilSweep !== true;
    if (isClean && when === 'after another run') await world.check();
    // The sweep that a purge requires is due an hour after it.
    if (mirror.mirror.state.sweepAt?.before != null) mirror.clock += HOUR_MS;
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
    await scenario.after?.(world);
  } catch (error) {
    const where = `${activity}: write ${write} (${late.method} ${late.url}), ${when}`;
    throw new Error(`${where}: ${errorMessage(error)}`, { cause: error });
  }
  return true;
}

const anotherRun = async ({ mirror, change }: LateWorld): Promise<void> => {
  change();
  await mirror.run();
};

describe('a late write of a replaced attempt', () => {
  const ofRun = [
    'worktrack.run',
    'worktrack.read',
    'worktrack.mergePlan',
    'worktrack.merge',
    'worktrack.publish',
    'worktrack.sweep',
  ] as const;
  const isPublish = (activity: Loss['activity']): boolean => activity === 'worktrack.publish';
  it.each(drawn(ofRun, 1, isPublish))('does no harm in a run: %s', async (activity) => {
    expect(await everyWriteLate(activity, { act: anotherRun })).toBeGreaterThan(0);
  });

  it.each(drawn(['worktrack.settle', 'worktrack.settleById'] as const, 1))(
    'does no harm in a run that detects deletes: %s',
    async (activity) => {
      const resources = `[{ name: ${RESOURCE}, fetchById: true, deletes: drop }]`;
      const act = async ({ mirror, simulator, change }: LateWorld): Promise<void> => {
        change();
        const [gone] = (await readRows({ mirror })).filter((row) => row._deleted_at === null);
        simulator.admin.remove(RESOURCE, [gone!.id!]);
        const { counts } = await mirror.run({ mode: 'full', reconcile: true });
        expect(counts.deleted).toBe(1);
      };
      expect(await everyWriteLate(activity, { resources, act })).toBeGreaterThan(0);
    },
  );

  it.each(drawn([2, 0], 1))('does no harm in a run in memory with %i changed rows', async (changed) => {
    const act = async ({ mirror, change }: LateWorld): Promise<void> => {
      if (changed > 0) change();
      expect(await mirror.inMemory()).not.toBeNull();
    };
    // Those of the probe of the store, and seven objects.
    expect(await everyWriteLate('worktrack.run', { act, untilSweep: true })).toBeGreaterThanOrEqual(7);
  });

  it('does no harm in the first run of a resource: worktrack.merge and worktrack.publish', async () => {
    for (const activity of drawn(['worktrack.merge', 'worktrack.publish'] as const, 1)) {
      const act = async (world: LateWorld): Promise<void> => {
        // Nothing is published: `everyWriteLate` discards its run.
        for await (const { key } of world.mirror.store.list('')) await world.mirror.store.remove([key]);
        Object.assign(world.mirror, { published: null, checkpoint: null });
        await world.mirror.run();
      };
      expect(await everyWriteLate(activity, { act })).toBeGreaterThan(0);
    }
  });

  it.each(drawn(['worktrack.run', 'worktrack.merge', 'worktrack.publish'] as const, 1))(
    'does no harm in a rollback: %s',
    async (activity) => {
      const before = async (world: LateWorld): Promise<void> => {
        await anotherRun(world);
        await anotherRun(world);
      };
      const act = async ({ mirror }: LateWorld): Promise<void> => {
        const to = (await chainOf(mirror)).at(-1)!;
        await mirror.rollBack(to);
        // The full read that follows brings back what the service lists.
        await mirror.run();
      };
      expect(await everyWriteLate(activity, { before, act })).toBeGreaterThan(0);
    },
  );

  it('does no harm in a purge, and restores the record nowhere', async () => {
    const MARK = 'to be forgotten';
    const before = async (world: LateWorld): Promise<void> => {
      const { admin } = world.simulator;
      const id = admin.create(RESOURCE, { name: MARK });
      await world.mirror.run();
      admin.update(RESOURCE, id, { name: `${MARK} again` });
      await world.mirror.run();
      admin.remove(RESOURCE, [id]);
    };
    const act = async (world: LateWorld): Promise<void> => {
      const [row] = (await readRows(world)).filter(({ name }) => name?.startsWith(MARK));
      await world.mirror.purge(row!.id!);
      await world.check();
      expect(await world.objectsWith(MARK)).toEqual([]);
    };
    const after = async (world: LateWorld): Promise<void> => {
      expect(await world.objectsWith(MARK)).toEqual([]);
    };
    expect(await everyWriteLate('worktrack.purgeRecord', { before, act, after })).toBeGreaterThan(5);
  });

  it('does no harm when a run is discarded', async () => {
    const act = async (world: LateWorld): Promise<void> => {
      world.change();
      const { connection, resource, runId } = await world.mirror.merge();
      const { clock: nominalStart } = world.mirror;
      const ref = { connection, resource, runId };
      await world.mirror.step('worktrack.sweepFailedRun', { ...ref, nominalStart, staging: 'removed' });
    };
    expect(await everyWriteLate('worktrack.sweepFailedRun', { act })).toBeGreaterThan(0);
  });
});

async function chainOf({ store }: LateWorld['mirror']) {
  const pointer = { ...(await readPointer(store, RESOURCE)), resource: RESOURCE };
  const runs = [];
  for await (const { runId } of readChain(store, pointer)) runs.push(runId);
  return runs;
}

async function readRows({ mirror }: Pick<LateWorld, 'mirror'>) {
  return (await readSnapshot(mirror.store, RESOURCE)).rows;
}
