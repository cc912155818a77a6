import { afterEach, describe, expect, inject, it } from 'vitest';
import { seededRandom } from '../support/random.js';
import { checkMirrored } from './support/mirrored.js';
import { exportAll, OPERATIONS } from './support/operations.js';
import { startReader } from './support/reader.js';
import { carryOut, change, checkTidy, describePlan, drawPlan } from './support/rounds.js';
import { startWorld, type World } from './support/world.js';

/** Of the whole command; see vitest.config.ts. */
const SEED = Number(process.env.WORKTRACK_SEED);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 20);
/** A round takes a quarter of a minute; one that hangs must not take forever. */
const GIVE_UP_MS = (5 + ROUNDS) * 60_000;
/** Runs only the operations whose names contain this text. */
const ONLY = process.env.WORKTRACK_OPERATIONS ?? '';
/** Rounds between exports that run without kills and must clean up. */
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
      const operations = OPERATIONS.filter(({ name }) => name.includes(ONLY));
      world = await startWorld(inject('servers'), {
        seed: SEED,
        // The last two hold what is written back, and nothing else.
        counts: { tasks: 400, projects: 60, members: 8, 'time-entries': 0, 'calendar-entries': 0 },
        // Without compression, so that parts are large enough for uploads in pieces.
        yaml: '    sync: { pageSize: 20 }\n    csv: { compression: none }\n',
      });
      const text = (): string =>
        Array.from({ length: LARGE_BYTES / 8 }, () => random.share().toString(36).slice(2, 10)).join('');
      for (let n = 0; n < LARGE_RECORDS; n++)
        await world.control('POST', 'records/members', { create: [{ name: `large ${n}`, note: text() }] });
      await exportAll(world);
      const reader = startReader(world);
      let kills = 0;
      let hits = 0;
      const done = new Map<string, number>();
      try {
        for (let round = 1; round <= ROUNDS; round++) {
          const began = Date.now();
          await change(world, random);
          const plan = drawPlan(random, operations);
          const line = `${round}: ${describePlan(plan)}`;
          if (await carryOut(plan, world, random)) hits++;
          kills += plan.ends.length;
          done.set(plan.operation.name, (done.get(plan.operation.name) ?? 0) + 1);
          await checkMirrored(world);
          console.log(`${line}, ${Date.now() - began} ms`);
          expect(reader.faults).toEqual([]);
          if (round % PEACE_EVERY === 0 || round === ROUNDS) {
            await exportAll(world);
            await checkMirrored(world);
            await checkTidy(world);
          }
        }
        console.log(
          `seed ${SEED}: ${ROUNDS} rounds, ${kills} ends, ${hits} rounds hit in their middle, ${reader.followed} snapshots followed by the reader`,
          Object.fromEntries(done),
        );
        expect(world.unexpectedExits).toEqual([]);
      } catch (error) {
        console.log((await world.log('worker')).slice(-20_000));
        throw error;
      } finally {
        await reader.stop();
      }
      expect(reader.followed).toBeGreaterThan(ROUNDS);
    },
    GIVE_UP_MS,
  );
});
