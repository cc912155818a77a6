import { afterEach, describe, expect, it } from 'vitest';
import { expectMirrored } from '../support/mirrored.js';
import { seededRandom } from '../support/random.js';
import { FAULT_PAGE, FAULT_ROWS, GIVEN_UP, PASSING } from '../support/service-faults.js';
import { type Stack, startStack } from '../support/stack.js';

/** Of the whole command; see vitest.config.ts. */
const SEED = Number(process.env.WORKTRACK_SEED);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 30);
/** A round takes some seconds; one that hangs must not take forever. */
const GIVE_UP_MS = (4 + ROUNDS) * 30_000;

describe(`faults of the service, mixed (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it(
    'never lose a record and never double one',
    async () => {
      const random = seededRandom(SEED);
      stack = await startStack({
        simulator: { seed: SEED, counts: { tasks: FAULT_ROWS } },
        resources: '[tasks]',
        yaml: `    sync: { pageSize: ${FAULT_PAGE} }\n    http: { headersTimeout: 1s, bodyTimeout: 1s }\n`,
      });
      const { admin } = stack.simulator;
      await stack.startWorker();
      let hits = 0;
      for (let round = 1; round <= ROUNDS; round++) {
        for (let n = random.below(4); n > 0; n--) admin.create('tasks', { name: `made in ${round}` });
        admin.touch('tasks', { count: random.below(60), pick: 'spread' });
        admin.configure({
          order: random.pick(['id', 'updatedAt'] as const),
          cursorStyle: 'keyset',
          gzip: random.pick(['large', 'always', 'off'] as const),
          tooLargeLimit: random.pick(['clamp', 'refuse'] as const),
          pageMax: random.pick([7, 15, 1000]),
        });
        const names = Object.keys(PASSING);
        const chosen = [random.pick(names), random.pick(names), random.pick(names)];
        for (const name of new Set(chosen)) for (const rule of PASSING[name]!) admin.faults.add(rule);
        const full = random.share() < 0.6;
        const result = await stack.export({ full });
        hits += admin.faults.list().reduce((sum, rule) => sum + rule.hits, 0);
        admin.faults.clear();
        const what = `round ${round}: ${chosen.join(', ')}, ${full ? 'full' : 'increment'}`;
        expect(result.outcome, `${what}: ${JSON.stringify(result.runs)}`).toBe('published');
        await expectMirrored(stack, 'tasks').catch((cause) => {
          throw new Error(what, { cause });
        });
      }
      console.log(`seed ${SEED}: ${ROUNDS} rounds, ${hits} faults`);
      expect(hits).toBeGreaterThan(ROUNDS);
    },
    GIVE_UP_MS,
  );
});

describe('trouble of the service that does not pass', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it.each(Object.entries(GIVEN_UP))(
    '%s: the run gives up with a message that names the problem and its position, and the next run continues',
    async (_, fatal) => {
      stack = await startStack({
        simulator: { seed: 3, counts: { tasks: FAULT_ROWS } },
        resources: '[tasks]',
        yaml: `    sync: { pageSize: ${FAULT_PAGE} }\n    retries: { giveUpAfter: 25s }\n`,
      });
      await stack.startWorker();
      const { admin } = stack.simulator;
      admin.faults.add(fatal.rule);
      const [run] = (await stack.export()).runs;
      expect(run).toMatchObject({ outcome: 'failed', snapshot: null, error: { type: fatal.type } });
      expect(run!.error!.message).toMatch(fatal.says);
      expect(run!.error!.message).not.toContain('t0ken');
      admin.faults.clear();
      expect((await stack.export()).outcome).toBe('published');
      await expectMirrored(stack, 'tasks');
    },
  );
});
