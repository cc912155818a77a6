import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { expectMirrored } from '../../support/mirrored.js';
import { startWorkerProcess } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { isStaged, readPointer } from '../../support/snapshot.js';
import { type Stack, type StackOptions, startStack, until } from '../../support/stack.js';
import { expectOneActivity } from '../../support/stays-in-memory.js';

const RESOURCE = 'tasks';
const ROWS = 150;
/** What a worker writes when it is killed. */
const WRITES = [/snapshots.*\/part-/, /changes.*_datapackage\.json/, /latest\.json/];
const HOUR = 60 * 60_000;
/** So that some thousand rows are more than a part that is written twice. */
const UNCOMPRESSED = '    sync: { clock: service }\n    csv: { compression: none }\n';
/** Activities, by type, and all events that a run added to the history of its mirror. */
interface Cost {
  readonly events: number;
  readonly types: readonly (string | undefined)[];
  readonly activities: readonly string[];
  readonly requests: readonly string[];
  readonly tookMs: number;
}

/** A mirror behind a faulty store. */
function newWorld() {
  let stack: Stack;
  let s3: FaultyS3;
  let worker: { stop(): Promise<void> };

  async function start(options: Partial<StackOptions> = {}, first = [RESOURCE]): Promise<void> {
    s3 = await startFaultyS3(sharedS3());
    stack = await startStack({
      s3Endpoint: s3.url,
      simulator: { seed: 11, now: Date.now(), counts: { [RESOURCE]: ROWS } },
      resources: `[${RESOURCE}]`,
      yaml: '    sync: { clock: service }\n',
      ...options,
    });
    // The overlap does not reach the changes in the hour of the seed.
    stack.simulator.admin.advance(HOUR);
    worker = await stack.startWorker();
    expect((await stack.export({ resources: first })).outcome).toBe('published');
  }

  /** Objects that no published run has: those in folders of other runs, and staged ones. */
  async function leftOver(): Promise<string[]> {
    const published: string[] = [];
    for await (const run of runsOfChain()) published.push(`run=${run}/`);
    const left: string[] = [];
    for await (const { key } of stack.store.list('')) {
      if (isStaged(key) || (key.includes('run=') && !published.some((run) => key.includes(run))))
        left.push(key);
    }
    return left;
  }

  /** A nightly run: what it cost, and what it counted. */
  async function night(
    resources = [RESOURCE],
  ): Promise<Cost & { readonly counts: unknown; readonly runId: string }> {
    const before = await eventsAtRest();
    // A run that starts in the second of the one before waits for the next second, which takes five events.
    const ended = Date.now();
    await until(() => Date.now() > ended + 1000, 'the second of the last run is over');
    s3.takeRequests();
    const asked = performance.now();
    const [run] = (await stack.export({ resources })).runs;
    const tookMs = performance.now() - asked;
    const requests = s3.takeRequests();
    expect(run?.error).toBeNull();
    const events = (await eventsAtRest()).slice(before.length);
    const activities = events.flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
    );
    const types = events.map((event) => Object.keys(event).find((name) => name.endsWith('Attributes')));
    return {
      events: events.length,
      types,
      activities,
      requests,
      tookMs,
      counts: run!.counts,
      runId: run!.runId!,
    };
  }

  /** The events of the mirror, once it has nothing more to do. */
  async function eventsAtRest() {
    for (;;) {
      // Before its first run, a resource has no mirror.
      const found = await stack.history(stack.mirrorId(RESOURCE)).catch(() => null);
      if (found === null) return [];
      const { events } = found;
      const sent = events!.filter((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes);
      const arrived = events!.filter((event) => event.externalWorkflowExecutionSignaledEventAttributes);
      const isIdle = events!.at(-1)!.workflowTaskCompletedEventAttributes;
      if (isIdle && sent.length === arrived.length) return events!;
    }
  }

  async function objects(): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of stack.store.list('')) keys.push(key);
    return keys;
  }

  async function checkLake(): Promise<void> {
    expect((await verifySnapshot(stack.store, RESOURCE)).problems).toEqual([]);
    await expectMirrored(stack, RESOURCE);
  }

  async function* runsOfChain(): AsyncGenerator<string> {
    const pointer = { ...(await readPointer(stack.store, RESOURCE)), resource: RESOURCE };
    for await (const { runId } of readChain(stack.store, pointer)) yield runId;
  }

  return {
    ...{ start, night, objects, leftOver, checkLake, runsOfChain },
    get stack() {
      return stack;
    },
    get s3() {
      return s3;
    },
    get worker() {
      return worker;
    },
    async stop() {
      await stack?.stop();
      await s3?.close();
    },
  };
}

/** Kills the worker while it writes an object with such a path, and checks what another worker makes of it. */
async function killedAt(world: ReturnType<typeof newWorld>, path: RegExp): Promise<void> {
  const { start, night, leftOver, checkLake, runsOfChain } = world;
  await start();
  const { stack, s3, worker } = world;
  await worker.stop();
  const first = await startWorkerProcess(stack);
  stack.simulator.admin.touch(RESOURCE, { count: 3, pick: 'spread' });
  // The store carries out the request, and the worker does not learn of it.
  const kept = s3.add({ method: 'PUT', path, fault: { kind: 'keep-response' } });
  const exporting = stack.export();
  await until(() => kept.hits > 0, 'the request has been sent');
  await first.signal('SIGKILL');
  s3.clear();
  const second = await startWorkerProcess(stack);
  const [run] = (await exporting).runs;
  expect(run).toMatchObject({ outcome: 'published', counts: { updated: 3 } });
  await checkLake();
  expect(await leftOver()).toEqual([]);
  let runs = 0;
  for await (const _ of runsOfChain()) runs++;
  expect(runs).toBe(2);
  const next = await night();
  expectOneActivity(next.activities, next.tookMs);
  await checkLake();
  await second.signal('SIGTERM');
}

describe('a run that fits into memory', () => {
  let world: ReturnType<typeof newWorld>;
  beforeEach(() => {
    world = newWorld();
  });
  afterEach(() => world.stop());

  it('takes one activity, at most 18 events and 10 requests to the store', async () => {
    await world.start();
    for (const changes of [0, 0, 3, 0]) {
      if (changes > 0) world.stack.simulator.admin.touch(RESOURCE, { count: changes, pick: 'spread' });
      const cost = await world.night();
      expectOneActivity(cost.activities, cost.tookMs);
      // Once in three runs, the mirror continues as new, which takes five events.
      const continues = cost.types.includes('workflowExecutionContinuedAsNewEventAttributes') ? 5 : 0;
      expect(cost.events - continues, cost.types.join()).toBeLessThanOrEqual(18);
      expect(cost.requests.length).toBeLessThanOrEqual(10);
      await world.checkLake();
    }
  });

  it('reads the projects that show the organization once for all resources of an export', async () => {
    const resources = ['projects', 'members', 'clients'];
    await world.start({ resources: `[${resources}]` }, resources);
    const { requests } = await world.night(resources);
    const parts = requests.filter((request) => /^GET .*\/projects\/snapshots\/.*\.csv\.gz/.test(request));
    // The first and the last block, and the merge of the projects.
    expect(parts.length, requests.join('\n')).toBeLessThanOrEqual(3);
  });

  it('takes at most 3 activities, 25 events and 16 requests in the first export of a resource', async () => {
    await world.start({ resources: `[members, ${RESOURCE}]` }, ['members']);
    expect((await world.stack.export({ resources: ['members'] })).outcome).toBe('published');
    const cost = await world.night([RESOURCE]);
    expect(cost.counts).toMatchObject({ inserted: ROWS });
    expect(cost.activities.length).toBeLessThanOrEqual(3);
    expect(cost.activities).toContain('worktrack.run');
    expect(cost.events, cost.types.join()).toBeLessThanOrEqual(25);
    expect(cost.requests.length, cost.requests.join()).toBeLessThanOrEqual(16);
    await world.checkLake();
  });

  it('waits for at most 12 answers of a distant store in turn, in the first export of a lake', async () => {
    // A small part is written twice, a larger one is copied within the store.
    for (const rows of [400, 4_000]) {
      const s3 = await startFaultyS3(sharedS3(), { awayMs: 250 });
      const stack = await startStack({
        s3Endpoint: s3.url,
        simulator: { seed: 11, now: Date.now(), counts: { [RESOURCE]: rows } },
        resources: `[${RESOURCE}]`,
        yaml: UNCOMPRESSED,
      });
      try {
        // versitygw removes the lake's folder with the only object in it, here that of the trial. A request that creates the first
        // part in this folder meanwhile is refused, and sent again.
        await stack.store.write('KEEP' as ObjectKey, Buffer.from('the folder'));
        await stack.startWorker();
        s3.takeRequests();
        s3.takeLongestChain();
        const { outcome } = await stack.export();
        const requests = s3.takeRequests();
        expect(outcome).toBe('published');
        expect(requests.some((request) => request.includes('_probe-'))).toBe(true);
        expect(requests.filter((request) => request.startsWith('HEAD'))).toHaveLength(rows > 400 ? 1 : 0);
        const chain = s3.takeLongestChain();
        expect(chain.length, chain.join('\n')).toBeLessThanOrEqual(12);
      } finally {
        await stack.stop();
        await s3.close();
      }
    }
  });

  it('copies a larger part within the store, with one request more', async () => {
    await world.start({
      simulator: { seed: 11, now: Date.now(), counts: { [RESOURCE]: 4_000 } },
      yaml: UNCOMPRESSED,
    });
    const cost = await world.night();
    expectOneActivity(cost.activities, cost.tookMs);
    expect(cost.requests.filter((request) => request.startsWith('HEAD'))).toHaveLength(1);
    expect(cost.requests.length).toBeLessThanOrEqual(11);
    await world.checkLake();
  });

  // Side by side: Temporal takes ten seconds to notice that a worker is gone. In `npm test` one of the writes: `faults/late-requests`
  // loses attempts at each.
  it('loses and doubles nothing if the worker is killed while it writes a part, a manifest or latest.json', async () => {
    await Promise.all(
      drawn(WRITES, 1).map(async (path) => {
        const own = newWorld();
        await killedAt(own, path).finally(() => own.stop());
      }),
    );
  });

  it('may have more than one page', async () => {
    await world.start({ yaml: '    sync: { clock: service, pageSize: 30 }\n' });
    world.stack.simulator.admin.touch(RESOURCE, { count: 40, pick: 'spread' });
    const { activities, counts, tookMs } = await world.night();
    expectOneActivity(activities, tookMs);
    expect(counts).toMatchObject({ updated: 40 });
    await world.checkLake();
    expect(await world.leftOver()).toEqual([]);
  });

  it('continues in the lake if the service makes it wait after the first page', async () => {
    await world.start({ yaml: '    sync: { clock: service, pageSize: 30 }\n' });
    world.stack.simulator.admin.touch(RESOURCE, { count: 40, pick: 'spread' });
    world.stack.simulator.admin.faults.add({
      match: { resource: RESOURCE, page: 1 },
      remaining: 1,
      fault: { kind: 'status', status: 429, retryAfter: 7 },
    });
    const { activities, counts } = await world.night();
    expect(activities.slice(0, 2)).toEqual(['worktrack.run', 'worktrack.read']);
    expect(activities).toContain('worktrack.publish');
    expect(counts).toMatchObject({ updated: 40 });
    await world.checkLake();
    expect(await world.leftOver()).toEqual([]);
  });

  it('leaves no trace in the lake if it fails before its merge', async () => {
    await world.start({ yaml: '    sync: { clock: service, pageSize: 30 }\n' });
    world.stack.simulator.admin.touch(RESOURCE, { count: 40, pick: 'spread' });
    world.stack.simulator.admin.faults.add({
      match: { resource: RESOURCE, page: 1 },
      fault: { kind: 'status', status: 403 },
    });
    // What it could resume from finds no place.
    world.s3.add({
      method: 'PUT',
      path: /_staging/,
      fault: { kind: 'status', status: 403, code: 'AccessDenied' },
    });
    const before = await world.objects();
    const [run] = (await world.stack.export()).runs;
    expect(run?.outcome).toBe('refused');
    expect(await world.objects()).toEqual(before);
    world.stack.simulator.admin.faults.clear();
    world.s3.clear();
    expect((await world.stack.export()).outcome).toBe('published');
    await world.checkLake();
  });

  it('removes what a failed run left, before it answers', async () => {
    await world.start();
    const { store } = world.stack;
    const run = `run=20260101T000000Z-00000001`;
    const left = [`changes/dt=2026-01-01/${run}/part-00000-aaaaaaaa.csv.gz`].map(
      (key) => `${RESOURCE}/${key}`,
    );
    const staged = `_staging/${RESOURCE}/20260101T000000Z-00000001/run.json`;
    for (const key of [...left, staged]) await store.write(key as ObjectKey, Buffer.from('{}'));
    world.stack.simulator.admin.faults.add({
      match: { resource: RESOURCE },
      fault: { kind: 'status', status: 403 },
    });
    expect((await world.stack.export()).runs[0]?.outcome).toBe('refused');
    world.stack.simulator.admin.faults.clear();
    const next = await world.night();
    expectOneActivity(next.activities, next.tookMs);
    expect(await world.leftOver()).toEqual([]);
    await world.checkLake();
  });
});
