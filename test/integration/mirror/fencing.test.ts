import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { resolveServer, startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import { holdAnswer } from '../../support/hold.js';
import { expectMirrored } from '../../support/mirrored.js';
import { drawn } from '../../support/seeds.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const ROWS = 60;

describe('two clusters that mirror one connection into one lake', () => {
  let other: TemporalDevServer;
  let stacks: Stack[] = [];
  beforeAll(async () => {
    const { path: executable } = await resolveServer('temporal');
    other = await startTemporalDevServer({ executable, headless: true });
  });
  afterAll(() => other?.stop());
  afterEach(async () => {
    for (const stack of stacks.reverse()) await stack.stop();
    stacks = [];
  });

  /** The first cluster has published; the second has never run. */
  async function twoClusters(): Promise<[Stack, Stack]> {
    const options = { resources: '[tasks]', yaml: '    sync: { pageSize: 20 }\n' };
    const one = await startStack({
      ...options,
      simulator: { seed: 2, awkward: false, counts: { tasks: ROWS } },
    });
    stacks.push(one);
    const two = await startStack({ ...options, beside: one, temporalAddress: other.address });
    stacks.push(two);
    for (const stack of stacks) await stack.startWorker();
    expect((await one.export()).outcome).toBe('published');
    return [one, two];
  }

  /** Starts an export and holds it on its first page, after it has read the pointer. */
  async function held(stack: Stack) {
    const first = holdAnswer(stack.simulator, { resource: 'tasks', page: 0 });
    const result = stack.export({ full: true });
    await until(first.isThere, 'the run has begun');
    return { go: first.release, result };
  }

  const verified = async (stack: Stack) => {
    const { ok, problems } = await verifySnapshot(stack.store, 'tasks');
    expect(problems).toEqual([]);
    expect(ok).toBe(true);
    await expectMirrored(stack, 'tasks');
  };

  // `unit/mirror/fence-random` has both.
  it.each(drawn(['the run that started first', 'the run that started last'], 1))(
    'have one winner if two runs race for one swap: %s; the other is displaced until it adopts',
    async (who) => {
      const [one, two] = await twoClusters();
      const { admin } = one.simulator;
      const first = await held(one);
      // Run ids order runs only by their second.
      const second = Math.floor(Date.now() / 1000);
      await until(() => Math.floor(Date.now() / 1000) > second, 'a new second has begun');
      const last = await held(two);
      admin.touch('tasks', { count: 5, pick: 'spread' });
      const firstWins = who === 'the run that started first';
      const [winner, loser] = firstWins ? [first, last] : [last, first];
      const [winning, losing] = firstWins ? [one, two] : [two, one];
      winner.go();
      expect((await winner.result).outcome).toBe('published');
      const published = await readPointer(one.store, 'tasks');

      loser.go();
      const lost = (await loser.result).runs[0]!;
      expect(lost.outcome).toBe('failed');
      expect(lost.error).toMatchObject({ type: 'Displaced' });
      expect(lost.error!.message).toContain(published.runId);
      expect(lost.error!.message).toContain('worktrack export --adopt');
      expect(await readPointer(one.store, 'tasks')).toEqual(published);
      await verified(one);

      // The winner continues, and cleans up after both.
      expect((await winning.export()).outcome).toBe('published');
      const { runId } = await readPointer(one.store, 'tasks');
      await verified(one);
      expect(await one.store.listFolders('_staging/tasks/')).toEqual([]);

      // The loser stops before it extracts, and names the winner.
      const asked = admin.stats().byRoute['GET tasks'];
      const displaced = (await losing.export()).runs[0]!;
      expect(displaced.error).toMatchObject({ type: 'Displaced' });
      expect(displaced.error!.message).toContain(runId);
      expect(admin.stats().byRoute['GET tasks']).toBe(asked);

      // With --adopt it takes over, and the other one stops.
      expect((await losing.export({ adopt: true })).outcome).toBe('published');
      await verified(one);
      expect((await winning.export()).runs[0]!.error).toMatchObject({ type: 'Displaced' });
    },
  );

  it('have one winner if both run for the first time together', async () => {
    const [one, two] = await twoClusters();
    // Without any run: a lake that has runs and no pointer is taken over only with `--adopt`.
    const written: ObjectKey[] = [];
    for await (const { key } of one.store.list('tasks/')) written.push(key);
    await one.store.remove(written);
    await one.temporal.client.workflow.getHandle(one.mirrorId('tasks')).terminate('restart');
    const [a, b] = [await held(one), await held(two)];
    a.go();
    b.go();
    const results = await Promise.all([a.result, b.result]);
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'published']);
    const { error } = results.flatMap(({ runs }) => runs).find(({ outcome }) => outcome === 'failed')!;
    expect(error).toMatchObject({ type: 'Displaced' });
    expect(error!.message).toContain((await readPointer(one.store, 'tasks')).runId);
    await verified(one);
  });
});

describe('a lake that belongs to another connection', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is rejected with a message that names the owner, and stays unchanged until someone takes it over', async () => {
    stack = await startStack({
      resources: '[tasks]',
      simulator: { awkward: false, counts: { tasks: 5 } },
    });
    await stack.startWorker();
    await stack.export();
    const published = await readPointer(stack.store, 'tasks');
    const intruder = await startStack({ resources: '[tasks]', beside: stack, connection: 'intruder' });
    try {
      await intruder.startWorker();
      const [run] = (await intruder.export()).runs;
      expect(run!.error).toMatchObject({ type: 'Displaced' });
      expect(run!.error!.message).toContain(
        `belongs to run ${published.runId} of connection "${stack.connection}"`,
      );
      expect(run!.error!.message).toContain('--adopt');
      expect(await readPointer(stack.store, 'tasks')).toEqual(published);
      const [taken] = (await intruder.export({ adopt: true })).runs;
      expect(taken).toMatchObject({ outcome: 'published' });
      expect(taken!.warnings.join()).toContain('renamed');
    } finally {
      await intruder.stop();
    }
  });
});
