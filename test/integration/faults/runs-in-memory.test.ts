import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { haveSameRequest } from '../../../src/core/run-id.js';
import { readChain } from '../../../src/lake/published/chain.js';
import type { LateRequest } from '../../support/late-requests.js';
import { type LateWorld, RESOURCE, startLateWorld } from '../../support/late-world.js';
import { drawn } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { readPointer } from '../../support/snapshot.js';
import { nextSecond } from '../../support/stack.js';

shortenBackOffs();

const SWAP = /latest\.json/;
/** What is written before the swap. */
const BEFORE = [
  /snapshots\/.*\/part-/,
  /snapshots\/.*index\.json/,
  /changes\/.*\/part-/,
  /changes\/.*_datapackage/,
  /snapshots\/.*_datapackage/,
];

describe('a replaced attempt of a run in memory', () => {
  let world: LateWorld;
  afterEach(() => world?.stop());

  async function chain(): Promise<string[]> {
    const pointer = { ...(await readPointer(world.mirror.store, RESOURCE)), resource: RESOURCE };
    const runs: string[] = [];
    for await (const { runId } of readChain(world.mirror.store, pointer)) runs.push(runId);
    return runs;
  }

  it('is found by the next attempt if it has published its run', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const ref = mirror.ref();
    const onLost = (late: LateRequest) => late.deliver();
    const lost = mirror.lose({ activity: 'worktrack.run', write: SWAP, onLost });
    const published = await mirror.inMemory(ref);
    expect(lost.late).not.toBeNull();
    expect(haveSameRequest(published!.runId, ref.runId)).toBe(true);
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
    for (const write of drawn(BEFORE, 2)) {
      world.change();
      const ref = mirror.ref();
      const lost = mirror.lose({ activity: 'worktrack.run', write });
      const published = await mirror.inMemory(ref);
      expect(lost.late).not.toBeNull();
      expect(published).not.toBeNull();
      await mirror.settle();
      await world.check();
      await world.checkTidy();
    }
  });

  /** A run in memory whose swap is lost, and that fails. */
  async function failedWithLostSwap() {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const ref = mirror.ref();
    const lost = mirror.lose({ activity: 'worktrack.run', write: SWAP, outcome: 'fails' });
    await expect(mirror.inMemory(ref)).rejects.toThrow('the network is lost');
    await mirror.settle();
    return { mirror, ref, lost };
  }

  /** The run id in `latest.json`, which has to be that of an attempt at this request. */
  async function publishedBy(request: RunId): Promise<RunId> {
    const { runId } = await readPointer(world.mirror.store, RESOURCE);
    expect(haveSameRequest(runId as RunId, request)).toBe(true);
    expect(runId).not.toBe(request);
    return runId as RunId;
  }

  it('is accepted by the same run in the lake if its swap arrives while that works', async () => {
    const { mirror, ref, lost } = await failedWithLostSwap();
    const input = await mirror.merge(ref);
    await lost.late!.deliver();
    const runId = await publishedBy(ref.runId);
    expect((await mirror.publishMerged(input)).runId).toBe(runId);
    mirror.published = runId;
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
  });

  it('is not mistaken for another mirror if an object of the run in the lake is gone', async () => {
    const { mirror, ref, lost } = await failedWithLostSwap();
    const input = await mirror.merge(ref);
    await lost.late!.deliver();
    const { store } = mirror;
    for await (const { key } of store.list('_staging/'))
      if (key.includes('/merged-')) await store.remove([key]);
    await expect(mirror.step('worktrack.publish', input)).rejects.toMatchObject({ type: 'Lake' });
  });

  it('fails the run of a later request if its swap arrives while that run works', async () => {
    const { mirror, ref, lost } = await failedWithLostSwap();
    const input = await mirror.merge();
    await lost.late!.deliver();
    const runId = await publishedBy(ref.runId);
    await expect(mirror.step('worktrack.publish', input)).rejects.toMatchObject({
      type: 'Transient',
      nonRetryable: true,
      message: expect.stringContaining(`run ${runId} of an earlier request was published`),
    });
    await nextSecond();
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
  });

  it('is accepted by the fence of the next run if its swap has arrived before', async () => {
    const { mirror, ref, lost } = await failedWithLostSwap();
    await lost.late!.deliver();
    const runId = await publishedBy(ref.runId);
    world.change();
    await mirror.run();
    expect(await chain()).toContain(runId);
    await world.check();
    await world.checkTidy();
  });

  it('keeps what it has written if it is cancelled after its swap was sent', async () => {
    const { ref, lost } = await failedWithLostSwap();
    await lost.late!.deliver();
    await publishedBy(ref.runId);
    await world.check();
  });

  it('continues from what another attempt has spilled', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const ref = mirror.ref();
    const input = await mirror.merge(ref);
    const lost = mirror.lose({ activity: 'worktrack.run', write: 0 });
    // The next attempt finds the run in the lake, so it writes nothing.
    expect(await mirror.inMemory(ref)).toBeNull();
    expect(lost.late).not.toBeNull();
    await mirror.settle();
    const { run: published } = await mirror.publishMerged(input);
    expect(published.runId).toBeUndefined();
    Object.assign(mirror, { published: ref.runId, checkpoint: published.checkpoint });
    await nextSecond();
    world.change();
    await mirror.run();
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
      await expect(mirror.inMemory()).rejects.toMatchObject({
        type: 'Transient',
        nonRetryable,
        message: nonRetryable ? expect.stringContaining('(6h), so the run ends now') : expect.any(String),
      });
    },
  );

  it('stops if it is displaced by another mirror', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    const other = world.other();
    for (let n = 0; n < 4; n++) other.ref();
    world.change();
    await other.run();
    await expect(mirror.inMemory()).rejects.toThrow('another mirror has written');
    await world.check();
  });
});
