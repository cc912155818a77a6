import { afterEach, describe, expect, inject, it } from 'vitest';
import { seededRandom } from '../support/random.js';
import { checkMirrored } from './support/mirrored.js';
import { exportAll, LONG_OPERATIONS } from './support/operations.js';
import { carryOut, change, checkTidy, describePlan, drawPlan } from './support/rounds.js';
import { startWorld, type World } from './support/world.js';

const SEED = Number(process.env.WORKTRACK_SEED);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 20);
const GIVE_UP_MS = (5 + ROUNDS) * 60_000;
const PEACE_EVERY = 5;
const PAGE_SIZE = 20;
/** Each page is larger than a part, so each is a chunk that overlaps all others, and some are merged into a larger chunk. */
const ROWS = 67 * PAGE_SIZE;

describe(`processes that are killed while chunks are merged into larger ones (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let world: World;
  afterEach(() => world?.stop());

  it(
    'lose nothing and double nothing',
    async () => {
      const random = seededRandom(SEED);
      world = await startWorld(inject('servers'), {
        seed: SEED,
        counts: { tasks: ROWS },
        yaml: `    sync: { pageSize: ${PAGE_SIZE} }\n    csv: { partSize: 2KiB }\n`,
        service: ['--order', 'random'],
      });
      await exportAll(world);
      let hits = 0;
      for (let round = 1; round <= ROUNDS; round++) {
        const began = Date.now();
        await change(world, random);
        const plan = drawPlan(random, LONG_OPERATIONS);
        const isHit = await carryOut(plan, world, random);
        if (isHit) hits++;
        await checkMirrored(world);
        console.log(`${round}: ${describePlan(plan)}${isHit ? '' : ', missed'}, ${Date.now() - began} ms`);
        if (round % PEACE_EVERY === 0 || round === ROUNDS) {
          await exportAll(world);
          await checkMirrored(world);
          await checkTidy(world);
        }
      }
      console.log(`seed ${SEED}: ${ROUNDS} rounds, ${hits} hit in their middle`);
      expect(hits).toBeGreaterThan(ROUNDS / 2);
      expect(world.unexpectedExits).toEqual([]);
    },
    GIVE_UP_MS,
  );
});
