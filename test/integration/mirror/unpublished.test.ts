import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { ExportResult } from '../../../src/core/contract/index.js';
import { DAY_MS } from '../../../src/core/duration.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { startRollback } from '../../../src/temporal/client/start.js';
import { type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { type LateWorld, RESOURCE, startLateWorld } from '../../support/late-world.js';
import { expectMirrored } from '../../support/mirrored.js';
import { longOnly } from '../../support/seeds.js';
import { quickRetries, shortenBackOffs } from '../../support/short-waits.js';
import { readPointer } from '../../support/snapshot.js';
import { nextSecond, resultOf } from '../../support/stack.js';

shortenBackOffs();

/** Objects of a run below a prefix. */
async function objectsOf(
  store: { list(prefix: string): AsyncIterable<{ key: ObjectKey }> },
  prefix: string,
  run: string,
) {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) if (key.includes(`run=${run}/`)) keys.push(key);
  return keys;
}

async function rollBack({ stack }: FaultyStack, to: RunId): Promise<void> {
  const { taskQueue, temporal, connection } = stack;
  const id = await startRollback(temporal, { connection, resource: 'tasks', to }, { taskQueue });
  await temporal.client.workflow.getHandle(id).result();
}

describe('the files of unpublished runs', () => {
  let faulty: FaultyStack;
  afterEach(() => faulty?.stop());

  it('are removed after a swap failed permanently with the manifests written', async () => {
    faulty = await startFaultyStack('    retries: { giveUpAfter: 3m }\n');
    const { stack, s3 } = faulty;
    await stack.startWorker(stack.settings, quickRetries);
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    stack.simulator.admin.touch('tasks', { count: 5, pick: 'spread' });
    const fault = { kind: 'status', status: 500, code: 'InternalError' } as const;
    s3.add({ method: 'PUT', path: /latest\.json/, fault });
    const [failed] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(failed).toMatchObject({ outcome: 'failed', error: { type: 'Transient' } });
    const stale = failed!.runId!;
    const log = await objectsOf(stack.store, 'tasks/changes/', stale);
    expect(log.some((key) => key.endsWith('_datapackage.json'))).toBe(true);

    s3.clear();
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    expect(await objectsOf(stack.store, '', stale)).toEqual([]);
    await expectMirrored(stack, 'tasks');
  });

  // The test above has a run that failed after another one.
  longOnly('are removed even if no run was ever published', async () => {
    faulty = await startFaultyStack('    retries: { giveUpAfter: 3m }\n');
    const { stack, s3 } = faulty;
    await stack.startWorker(stack.settings, quickRetries);
    const fault = { kind: 'status', status: 500, code: 'InternalError' } as const;
    s3.add({ method: 'PUT', path: /latest\.json/, fault });
    const [failed] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(failed).toMatchObject({ outcome: 'failed', error: { type: 'Transient' } });
    s3.clear();
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    expect(await objectsOf(stack.store, '', failed!.runId!)).toEqual([]);
  });

  it('are removed even if the run file of one of them is damaged', async () => {
    faulty = await startFaultyStack();
    const { stack } = faulty;
    await stack.startWorker();
    const damaged = '_staging/tasks/20260101T000000Z-00000001/run.json' as ObjectKey;
    await stack.store.write(damaged, Buffer.from('{'));
    await nextSecond();
    const [run] = (await stack.export({ resources: ['tasks'] })).runs;
    expect(run).toMatchObject({ outcome: 'published' });
    expect(await stack.store.head(damaged)).toBeNull();
  });

  it('are removed with an upload that a delayed request began after its folder was removed', async () => {
    faulty = await startFaultyStack();
    const { stack, client } = faulty;
    await stack.startWorker();
    // It has no parts, because the time of the upload that this store shows is that of its newest part.
    const Key = 'lake/_staging/tasks/20260101T000000Z-00000001/chunk-0-1-0.csv';
    await client.send(new CreateMultipartUploadCommand({ Bucket: stack.bucket, Key }));
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: stack.bucket }));
    expect(Uploads).toHaveLength(1);
    await nextSecond();
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    expect((await stack.store.abortUploads('_staging/tasks/')).aborted).toBe(0);
  });
});

describe('the files of runs of another day', () => {
  // An export that begins more than a day late has the day when it begins.
  const DAY = new Date(Date.now() + 3 * DAY_MS);
  const OTHER = `dt=${DAY.toISOString().slice(0, 10)}/`;
  let faulty: FaultyStack;
  afterEach(() => faulty?.stop());

  /** An export that a Schedule starts for that day. */
  async function backfill(): Promise<ExportResult> {
    const { temporal, connection, taskQueue } = faulty.stack;
    return temporal.client.workflow
      .execute('exportWorkflow', {
        workflowId: `${connection}-backfill-${Math.random()}`,
        taskQueue,
        args: [{ connection, resources: ['tasks'] }],
        searchAttributes: { TemporalScheduledStartTime: [DAY] },
      })
      .catch(resultOf) as Promise<ExportResult>;
  }

  async function objectsBelow(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of faulty.stack.store.list(prefix)) if (key.includes(OTHER)) keys.push(key);
    return keys;
  }

  it('are removed if the run failed', async () => {
    faulty = await startFaultyStack('    retries: { giveUpAfter: 3m }\n');
    const { stack, s3 } = faulty;
    await stack.startWorker(stack.settings, quickRetries);
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    const fault = { kind: 'status', status: 500, code: 'InternalError' } as const;
    s3.add({ method: 'PUT', path: /latest\.json/, fault });
    expect((await backfill()).outcome).toBe('failed');
    expect(await objectsBelow('tasks/changes/')).not.toEqual([]);
    s3.clear();
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    expect(await objectsBelow('')).toEqual([]);
  });

  // The run of the next test stays, too.
  longOnly('stay if the run was rolled back, because it is on the chain', async () => {
    faulty = await startFaultyStack();
    const { stack } = faulty;
    await stack.startWorker();
    const [first] = (await stack.export({ resources: ['tasks'] })).runs;
    expect((await backfill()).outcome).toBe('published');
    const log = await objectsBelow('tasks/changes/');
    expect(log).not.toEqual([]);
    await rollBack(faulty, first!.runId as RunId);
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    expect(await objectsBelow('tasks/changes/')).toEqual(log);
    await expectMirrored(stack, 'tasks');
  });
});

describe('a run that was published without the mirror knowing', () => {
  let faulty: FaultyStack;
  afterEach(() => faulty?.stop());

  it('stays on the chain after a rollback, as any other', async () => {
    faulty = await startFaultyStack();
    const { stack, s3 } = faulty;
    await stack.startWorker();
    const [first] = (await stack.export({ resources: ['tasks'] })).runs;
    stack.simulator.admin.touch('tasks', { count: 3, pick: 'spread' });
    // The run reads the pointer once, swaps it, and learns nothing more.
    s3.add({ method: 'PUT', path: /tasks\/latest\.json/, fault: { kind: 'lose-response' } });
    const fault = { kind: 'status', status: 403, code: 'AccessDenied' } as const;
    s3.add({ method: 'GET', path: /tasks\/latest\.json/, after: 1, fault });
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('failed');
    s3.clear();
    const { runId } = await readPointer(stack.store, 'tasks');
    expect(runId).not.toBe(first!.runId);
    await rollBack(faulty, first!.runId as RunId);
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    expect(await objectsOf(stack.store, 'tasks/changes/', runId)).not.toEqual([]);
    await expectMirrored(stack, 'tasks');
  });
});

describe('a mirror that loses the results of its activities', () => {
  let world: LateWorld;
  afterEach(() => world?.stop());

  it('keeps all change logs of published runs, even if the clock was set back for one of them', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    const now = mirror.clock;
    const runs: RunId[] = [];
    for (const [daysAgo, hasSweep] of [
      [8, true],
      [7, true],
      [11, false],
      [0, true],
    ] as const) {
      mirror.clock = now - daysAgo * DAY_MS;
      world.change();
      runs.push((await (hasSweep ? mirror.run() : mirror.publish())).runId);
    }
    const pointer = { ...(await readPointer(mirror.store, RESOURCE)), resource: RESOURCE };
    const chain: RunId[] = [];
    for await (const { runId } of readChain(mirror.store, pointer)) chain.push(runId);
    expect(chain).toEqual(runs.reverse());
    await world.check();
    await world.checkTidy();
  });

  it('returns the run that another attempt has published, even if Temporal counts its attempts from one again', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const { published, checkpoint } = mirror;
    const ref = mirror.ref();
    const first = await mirror.inMemory(ref);
    expect(first).not.toBeNull();
    Object.assign(mirror, { published, checkpoint });
    expect(await mirror.inMemory(ref)).toMatchObject({ runId: first!.runId, counts: first!.counts });

    // The second attempt publishes. After a reset, the first one finds that.
    world.change();
    const before = { published: mirror.published, checkpoint: mirror.checkpoint };
    const next = mirror.ref();
    const lost = mirror.lose({ activity: 'worktrack.run', write: 0 });
    const second = await mirror.inMemory(next);
    expect(lost.late).not.toBeNull();
    expect(second).not.toBeNull();
    await mirror.settle();
    Object.assign(mirror, before);
    expect(await mirror.inMemory(next)).toMatchObject({ runId: second!.runId, counts: second!.counts });
    world.change();
    await mirror.run();
    await world.check();
    await world.checkTidy();
  });

  it('does not discard a published run, even if another mirror has continued from it', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const { runId, snapshot } = await mirror.run();
    const other = world.other();
    for (let n = 0; n < 4; n++) other.ref();
    world.change();
    await other.run();
    const ref = { ...mirror.ref(), runId };
    const nominalStart = Date.parse(/dt=([^/]+)/.exec(snapshot)![1]!);
    await mirror.step('worktrack.sweepFailedRun', { ...ref, nominalStart, staging: 'removed' });
    expect(await mirror.store.head(snapshot)).not.toBeNull();
    await other.run();
    await world.check();
    await world.checkTidy();
  });

  it('writes no manifest of a run if another mirror has published instead', async () => {
    world = await startLateWorld();
    const { mirror } = world;
    await mirror.run();
    world.change();
    const input = await mirror.merge();
    const other = world.other();
    for (let n = 0; n < 4; n++) other.ref();
    await other.run();
    await expect(mirror.step('worktrack.publish', input)).rejects.toMatchObject({
      type: 'Displaced',
    });
    const left = await objectsOf(mirror.store, RESOURCE, input.runId);
    expect(left.filter((key) => key.endsWith('_datapackage.json'))).toEqual([]);
  });
});
