import { afterEach, describe, expect, inject, it } from 'vitest';
import { checkMirrored } from '../../chaos/support/mirrored.js';
import { exportAll, OPERATIONS } from '../../chaos/support/operations.js';
import { startReader } from '../../chaos/support/reader.js';
import { carryOut, change, checkTidy, type Plan } from '../../chaos/support/rounds.js';
import { startWorld, type World } from '../../chaos/support/world.js';
import { seededRandom } from '../../support/random.js';
import { drawn } from '../../support/seeds.js';

const operation = (name: string) => OPERATIONS.find((one) => one.name === name)!;

/** The short form of test/chaos/kills.test.ts. `npm test` draws one of the plans; in all of them, each process is ended once. */
const PLANS: readonly Pick<Plan, 'operation' | 'moment' | 'ends'>[] = [
  {
    operation: operation('export'),
    moment: 'publish',
    ends: [
      { victim: 'temporal', signal: 'SIGKILL' },
      { victim: 's3', signal: 'SIGKILL' },
    ],
  },
  {
    // A run in memory stages nothing, so only a longer one has this moment.
    operation: operation('full export'),
    moment: 'extract',
    ends: [
      { victim: 'service', signal: 'SIGKILL' },
      { victim: 'worker', signal: 'SIGTERM' },
    ],
  },
  {
    operation: operation('write-back of time-entries'),
    moment: 'send',
    ends: [
      { victim: 'service', signal: 'SIGKILL' },
      { victim: 'worker', signal: 'SIGKILL' },
    ],
  },
];

describe('servers that are killed in the middle of an export or a write-back', () => {
  let world: World;
  afterEach(() => world?.stop());

  it('recover, without lost, duplicate, stray or partly visible objects', async () => {
    const random = seededRandom(1);
    const plans = drawn(PLANS, 1);
    world = await startWorld(inject('servers'), {
      seed: 1,
      counts: { tasks: 200, 'time-entries': 0 },
      // Lists of several pages, so that a run can be in the middle of one.
      yaml: '    sync: { pageSize: 20 }\n',
    });
    await exportAll(world);
    const reader = startReader(world);
    try {
      for (const plan of plans) {
        let isHit = false;
        // A kill may come too late.
        for (let attempt = 0; attempt < 12 && !isHit; attempt++) {
          await change(world, random);
          isHit = await carryOut({ ...plan, delayMs: 0, awayMs: 300 }, world, random);
          await checkMirrored(world);
        }
        expect(isHit, `${plan.operation.name} is hit in its middle`).toBe(true);
      }
      await exportAll(world);
      await checkTidy(world);
    } finally {
      await reader.stop();
    }
    expect(reader.faults).toEqual([]);
    expect(reader.followed).toBeGreaterThan(plans.length);
    expect(world.unexpectedExits).toEqual([]);
  });
});
