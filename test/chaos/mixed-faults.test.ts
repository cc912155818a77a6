import { afterEach, describe, expect, it } from 'vitest';
import { seededRandom } from '../support/random.js';
import { type MixedWorld, startMixedWorld } from './support/mixed-world.js';
import { SCENARIOS } from './support/scenarios.js';

/** Of the whole command; see vitest.config.ts. */
const SEED = Number(process.env.WORKTRACK_SEED);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 30);
/** A round takes some seconds. One that hangs must not take the whole run with it. */
const GIVE_UP_MS = (4 + ROUNDS) * 60_000;
/** Runs only the scenarios whose names contain this text. */
const ONLY = process.env.WORKTRACK_OPERATIONS ?? '';

describe(`faults of the service, the store and the operator, mixed (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let world: MixedWorld;
  afterEach(() => world?.stop());

  it(
    'lose no row and write none twice, or the run that loses a row warns of it',
    async () => {
      const random = seededRandom(SEED);
      const scenarios = SCENARIOS.filter(({ name }) => name.includes(ONLY));
      world = await startMixedWorld(SEED);
      await world.settle();
      const done = new Map<string, number>();
      let warned = 0;
      for (let round = 1; round <= ROUNDS; round++) {
        const began = Date.now();
        const scenario = random.pick(scenarios);
        world.changeSomething(random);
        try {
          await scenario.run(world, random);
          world.calm();
          const results = await world.settle();
          if (await world.check(results)) warned++;
          await world.checkChangeLogs('late');
          world.checkWrites();
        } catch (cause) {
          throw new Error(`seed ${SEED}, round ${round}: ${scenario.name}`, { cause });
        }
        done.set(scenario.name, (done.get(scenario.name) ?? 0) + 1);
        console.log(`${round}: ${scenario.name}, ${Date.now() - began} ms`);
      }
      console.log(
        `seed ${SEED}: ${ROUNDS} rounds, ${warned} of them with a warning`,
        Object.fromEntries(done),
      );
      // After a full read with a delete proof, only what the service holds is live.
      await world.reconcile();
      await world.check([]);
      await world.checkChangeLogs('none');
      expect([...done.values()].reduce((sum, n) => sum + n, 0)).toBe(ROUNDS);
    },
    GIVE_UP_MS,
  );
});
