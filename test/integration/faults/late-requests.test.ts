import { describe, expect, it } from 'vitest';
import { errorMessage } from '../../../src/core/errors.js';
import { inParallel } from '../../../src/core/in-parallel.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { type LateWorld, RESOURCE, startLateWorld } from '../../support/late-world.js';
import type { Loss } from '../../support/manual-mirror.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { nextSecond } from '../../support/stack.js';

const AT_ONCE = 4;
/** More writes than any activity here makes. */
const MOST_WRITES = 60;
/** When the request that was in flight arrives. */
const WHEN = ['when the next attempt has finished', 'after another run'] as const;

interface Scenario {
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
 * another attempt takes over and finishes, and only then does the store receive the request.
 *
 * @returns the number of writes
 */
async function everyWriteLate(activity: Loss['activity'], scenario: Scenario): Promise<number> {
  let writes: number | null = null;
  const one = async (write: number, when: (typeof WHEN)[number]): Promise<void> => {
    const world = await startLateWorld();
    const { mirror } = world;
    try {
      await mirror.run();
      await scenario.before?.(world);
      const lost = mirror.lose({ activity, write });
      await scenario.act(world);
      await mirror.settle();
      if (lost.late === null) {
        writes = lost.writes;
        return;
      }
      const { late } = lost;
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
        world.change();
        await mirror.run();
        await world.check();
        await world.checkTidy();
        await scenario.after?.(world);
      } catch (error) {
        const where = `${activity}: write ${write} (${late.method} ${late.url}), ${when}`;
        throw new Error(`${where}: ${errorMessage(error)}`, { cause: error });
      }
    } finally {
      await world.stop();
    }
  };
  for (let from = 0; writes === null && from < MOST_WRITES; from += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, at) => from + at);
    const tries = numbers.flatMap((number) => WHEN.map((when) => [number, when] as const));
    await inParallel(tries, AT_ONCE, ([number, when]) => one(number, when));
  }
  return writes ?? Number.NaN;
}

const anotherRun = async ({ mirror, change }: LateWorld): Promise<void> => {
  change();
  await mirror.run();
};

describe('a late write of a replaced attempt', () => {
  it.each([
    'worktrack.run',
    'worktrack.read',
    'worktrack.mergePlan',
    'worktrack.merge',
    'worktrack.publish',
    'worktrack.sweep',
  ] as const)('does no harm in a run: %s', async (activity) => {
    expect(await everyWriteLate(activity, { act: anotherRun })).toBeGreaterThan(0);
  });

  it.each([2, 0])('does no harm in a run in memory with %i changed rows', async (changed) => {
    const act = async ({ mirror, change }: LateWorld): Promise<void> => {
      if (changed > 0) change();
      expect(await mirror.inMemory()).not.toBeNull();
    };
    // Those of the probe of the store, and seven objects.
    expect(await everyWriteLate('worktrack.run', { act, untilSweep: true })).toBeGreaterThanOrEqual(7);
  });

  it('does no harm in the first run of a resource: worktrack.merge and worktrack.publish', async () => {
    for (const activity of ['worktrack.merge', 'worktrack.publish'] as const) {
      const act = async (world: LateWorld): Promise<void> => {
        // Nothing is published: `everyWriteLate` discards its run.
        for await (const { key } of world.mirror.store.list('')) await world.mirror.store.remove([key]);
        Object.assign(world.mirror, { published: null, checkpoint: null });
        await world.mirror.run();
      };
      expect(await everyWriteLate(activity, { act })).toBeGreaterThan(0);
    }
  });

  it.each(['worktrack.run', 'worktrack.merge', 'worktrack.publish'] as const)(
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
      const { ref } = await world.mirror.merge();
      const { clock: nominalStart } = world.mirror;
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

async function readRows({ mirror }: LateWorld) {
  return (await readSnapshot(mirror.store, RESOURCE)).rows;
}
