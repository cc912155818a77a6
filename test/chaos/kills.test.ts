import { afterEach, describe, expect, inject, it } from 'vitest';
import { seededRandom } from '../support/random.js';
import { OPERATIONS } from './support/operations.js';
import { startReader } from './support/reader.js';
import { carryOut, change, checkMirrored, checkTidy, describePlan, drawPlan } from './support/rounds.js';
import { startWorld, type World } from './support/world.js';

const SEED = Number(process.env.WORKTRACK_SEED ?? Date.now() % 1_000_000);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 20);
/** Rounds after which one export is left in peace and must tidy up. */
const PEACE_EVERY = 5;
/** Enough for a part that takes more than one upload. */
const LARGE_RECORDS = 30;
const LARGE_BYTES = 400_000;

describe(`processes that are killed (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let world: World;
  afterEach(() => world?.stop());

  it(
    'lose nothing and double nothing, and a reader never sees half of anything',
    async () => {
      const random = seededRandom(SEED);
      world = await startWorld(inject('servers'), {
        seed: SEED,
        counts: { tasks: 400, projects: 60, members: 8 },
        // Without compression, so that parts are large enough for uploads in pieces.
        yaml: '    sync: { pageSize: 20 }\n    csv: { compression: none }\n',
      });
      const text = (): string =>
        Array.from({ length: LARGE_BYTES / 8 }, () => random.share().toString(36).slice(2, 10)).join('');
      for (let n = 0; n < LARGE_RECORDS; n++)
        await world.control('POST', 'records/members', { create: [{ name: `large ${n}`, note: text() }] });
      const [first] = OPERATIONS;
      await first!.run(world);
      const reader = startReader(world.store, world.resources);
      let kills = 0;
      const log: string[] = [];
      try {
        for (let round = 1; round <= ROUNDS; round++) {
          const began = Date.now();
          await change(world, random);
          const plan = drawPlan(random, world);
          await carryOut(plan, world);
          kills += plan.ends.length;
          const line = `${round}: ${describePlan(plan)}, ${Date.now() - began} ms`;
          log.push(line);
          console.log(line);
          await checkMirrored(world);
          expect(reader.faults).toEqual([]);
          if (round % PEACE_EVERY === 0 || round === ROUNDS) {
            await first!.run(world);
            await checkMirrored(world);
            await checkTidy(world);
          }
        }
        console.log(
          `seed ${SEED}: ${ROUNDS} rounds, ${kills} ends, ${reader.followed} snapshots followed by the reader`,
        );
        expect(world.unbidden).toEqual([]);
      } catch (error) {
        console.log(log.join('\n'));
        console.log((await world.log('worker')).slice(-20_000));
        throw error;
      } finally {
        await reader.stop();
      }
      expect(reader.followed).toBeGreaterThan(ROUNDS);
    },
    4 * 3_600_000,
  );
});
