import { afterEach, describe, expect, it } from 'vitest';
import { attemptRunIds } from '../../../src/core/run-id.js';
import { RunChain } from '../../../src/lake/published/chain.js';
import type { LateRequest } from '../../support/late-requests.js';
import { type LateWorld, RESOURCE, startLateWorld } from '../../support/late-world.js';
import type { Lost } from '../../support/manual-mirror.js';
import { readPointer } from '../../support/snapshot.js';
import { nextSecond } from '../../support/stack.js';

const SWAP = /latest\.json/;
/** What is written before the swap. */
const BEFORE = [
  /snapshots\/.*\/part-/,
  /snapshots\/.*index\.json/,
  /changes\/.*\/part-/,
  /changes\/.*_datapackage/,
  /snapshots\/.*_datapackage/,
];

describe('an attempt of a short run that is replaced', () => {
  let world: LateWorld;
  afterEach(() => world?.stop());

  async function chain(): Promise<string[]> {
    const pointer = { ...(await readPointer(world.mirror.store, RESOURCE)), resource: RESOURCE };
    const runs: string[] = [];
    for await (const { runId } of new RunChain(world.mirror.store, pointer)) runs.push(runId);
    return runs;
  }

  /** The attempt that replaces the lost one hands over, because the list does not end. */
  function loseSwapAndHandOver(): Lost {
    const { mirror, simulator } = world;
    const onLost = (): void => {
      simulator.admin.faults.add({ match: { resource: RESOURCE }, fault: { kind: 'empty-page' } });
    };
    return mirror.lose({ activity: 'worktrack.shortRun', write: SWAP, onLost });
  }

  it('is found by the next attempt if it has published its run', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const ref = mirror.ref();
    const onLost = (late: LateRequest) => late.deliver();
    const lost = mirror.lose({ activity: 'worktrack.shortRun', write: SWAP, onLost });
    const published = await mirror.shortRun(ref);
    expect(lost.late).not.toBeNull();
    expect(published?.runId).toBe(ref.runId);
    await mirror.settle();
    await world.check();
    expect(await chain()).toHaveLength(2);
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
  });

  it('leaves its folder to the sweep of the next attempt', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    for (const write of BEFORE) {
      world.change();
      const ref = mirror.ref();
      const lost = mirror.lose({ activity: 'worktrack.shortRun', write });
      const published = await mirror.shortRun(ref);
      expect(lost.late).not.toBeNull();
      expect(published?.runId).toBe(attemptRunIds(ref.runId, 2)[1]);
      await mirror.settle();
      await world.check();
      await world.checkTidy();
    }
  });

  /** A short run whose swap is lost, and whose next attempt hands over. */
  async function handedOverWithLostSwap() {
    world = await startLateWorld();
    const { mirror, simulator } = world;
    await mirror.run();
    world.change();
    const ref = mirror.ref();
    const lost = loseSwapAndHandOver();
    expect(await mirror.shortRun(ref)).toBeNull();
    simulator.admin.faults.clear();
    await mirror.settle();
    return { mirror, ref, lost };
  }

  it('is accepted by the separate steps if its swap arrives while they work', async () => {
    const { mirror, ref, lost } = await handedOverWithLostSwap();
    expect(mirror.replaced).toEqual([ref.runId]);
    const next = { ...ref, runId: attemptRunIds(ref.runId, 3)[2]! };
    const merged = await mirror.merge({}, next);
    await lost.late!.deliver();
    const { stage, plan, results } = merged;
    const input = { ...next, stage, plan, results, shifted: false, unproven: 0 };
    expect((await mirror.step('worktrack.publish', input)).runId).toBe(ref.runId);
    mirror.published = ref.runId;
    mirror.replaced = [next.runId];
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
  });

  it('is not mistaken for another mirror if an object of the separate steps is gone', async () => {
    const { mirror, ref, lost } = await handedOverWithLostSwap();
    const next = { ...ref, runId: attemptRunIds(ref.runId, 3)[2]! };
    const { stage, plan, results } = await mirror.merge({}, next);
    await lost.late!.deliver();
    await mirror.store.remove(results);
    const input = { ...next, stage, plan, results, shifted: false, unproven: 0 };
    await expect(mirror.step('worktrack.publish', input)).rejects.toMatchObject({ type: 'Lake' });
  });

  it('fails the run of a later request if its swap arrives while that run works', async () => {
    const { mirror, ref, lost } = await handedOverWithLostSwap();
    const { results, stage, plan, ref: later } = await mirror.merge();
    await lost.late!.deliver();
    const input = { ...later, stage, plan, results, shifted: false, unproven: 0 };
    await expect(mirror.step('worktrack.publish', input)).rejects.toMatchObject({
      type: 'Transient',
      nonRetryable: true,
      message: expect.stringContaining(`run ${ref.runId} of an earlier request was published`),
    });
    await nextSecond();
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
  });

  it('is accepted by the fence of the separate steps if its swap has arrived before', async () => {
    const { mirror, ref, lost } = await handedOverWithLostSwap();
    await lost.late!.deliver();
    expect((await readPointer(mirror.store, RESOURCE)).runId).toBe(ref.runId);
    world.change();
    await mirror.run();
    expect(await chain()).toContain(ref.runId);
    await world.check();
    await world.checkTidy();
  });

  it.each([
    { hours: 5, nonRetryable: false },
    { hours: 7, nonRetryable: true },
  ])(
    'gives up only if the service asks for a longer wait than `retries.giveUpAfter`: $hours h',
    async ({ hours, nonRetryable }) => {
      world = await startLateWorld();
      const { mirror, simulator } = world;
      await mirror.run();
      simulator.admin.faults.add({
        match: { resource: RESOURCE },
        fault: { kind: 'status', status: 429, retryAfter: hours * 3600 },
      });
      await expect(mirror.shortRun()).rejects.toMatchObject({
        type: 'Transient',
        nonRetryable,
        message: nonRetryable ? expect.stringContaining('(6h), so the run ends now') : expect.any(String),
      });
    },
  );

  it('that is displaced by another mirror stops, and the separate steps report it', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    const other = world.other();
    for (let n = 0; n < 4; n++) other.ref();
    world.change();
    await other.run();
    expect(await mirror.shortRun()).toBeNull();
    await expect(mirror.run()).rejects.toThrow('another mirror has written');
    await world.check();
  });
});
