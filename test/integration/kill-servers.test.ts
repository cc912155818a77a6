import { afterEach, describe, expect, inject, it } from 'vitest';
import { OPERATIONS } from '../chaos/support/operations.js';
import { startReader } from '../chaos/support/reader.js';
import { carryOut, change, checkMirrored, checkTidy, type Plan } from '../chaos/support/rounds.js';
import { startWorld, type World } from '../chaos/support/world.js';
import { seededRandom } from '../support/random.js';

const [exporting] = OPERATIONS;

/** The short form of test/chaos/kills.test.ts: each process is ended once. */
const PLANS: readonly Pick<Plan, 'moment' | 'ends'>[] = [
  {
    moment: 'publish',
    ends: [
      { victim: 'temporal', signal: 'SIGKILL' },
      { victim: 's3', signal: 'SIGKILL' },
    ],
  },
  {
    moment: 'extract',
    ends: [
      { victim: 'service', signal: 'SIGKILL' },
      { victim: 'worker', signal: 'SIGTERM' },
    ],
  },
];

describe('servers that are killed in the middle of an export', () => {
  let world: World;
  afterEach(() => world?.stop());

  it('come back, and nothing is lost, doubled, left behind or seen half', async () => {
    const random = seededRandom(1);
    world = await startWorld(inject('servers'), { seed: 1, counts: { tasks: 200, projects: 20 } });
    await exporting!.run(world);
    const reader = startReader(world.store, world.resources);
    try {
      for (const plan of PLANS) {
        await change(world, random);
        await carryOut({ ...plan, operation: exporting!, resource: 'tasks', delayMs: 0, awayMs: 300 }, world);
        await checkMirrored(world);
      }
      await exporting!.run(world);
      await checkTidy(world);
    } finally {
      await reader.stop();
    }
    expect(reader.faults).toEqual([]);
    expect(reader.followed).toBeGreaterThan(PLANS.length);
    expect(world.unbidden).toEqual([]);
  }, 240_000);
});
