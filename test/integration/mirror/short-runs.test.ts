import { afterEach, describe, expect, it } from 'vitest';
import { folderOf, REPORT } from '../../../src/lake/published/layout.js';
import { decodeManifest } from '../../../src/lake/published/manifest.js';
import { verifySnapshot } from '../../../src/lake/verify/verify.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { expectMirrored } from '../../support/mirrored.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, type StackOptions, startStack } from '../../support/stack.js';

const RESOURCE = 'tasks';
const HOUR = 60 * 60_000;
/** Activities, by type, and all events that a run added to the history of its mirror. */
interface Cost {
  readonly events: number;
  readonly activities: readonly string[];
  readonly requests: readonly string[];
}

describe('a run that finds little or nothing new', () => {
  let stack: Stack;
  let s3: FaultyS3;
  afterEach(async () => {
    await stack?.stop();
    await s3?.close();
  });

  async function start(options: Partial<StackOptions> = {}): Promise<void> {
    const { inject } = await import('vitest');
    const servers = inject('servers');
    s3 = await startFaultyS3({
      endpoint: servers.s3Endpoint,
      region: servers.s3Region,
      accessKeyId: servers.s3AccessKeyId,
      secretAccessKey: servers.s3SecretAccessKey,
    });
    stack = await startStack({
      s3Endpoint: s3.url,
      simulator: { seed: 11, now: Date.now(), counts: { [RESOURCE]: 400 } },
      resources: `[${RESOURCE}]`,
      yaml: '    sync: { clock: service }\n',
      ...options,
    });
    // The overlap does not reach the changes in the hour of the seed.
    stack.simulator.admin.advance(HOUR);
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
  }

  /** A night: what it cost, and what it counted. */
  async function night(): Promise<Cost & { readonly counts: unknown; readonly runId: string }> {
    const before = (await stack.history(stack.mirrorId(RESOURCE))).events ?? [];
    s3.takeRequests();
    const [run] = (await stack.export()).runs;
    const requests = s3.takeRequests();
    expect(run?.error).toBeNull();
    const events = ((await stack.history(stack.mirrorId(RESOURCE))).events ?? []).slice(before.length);
    const activities = events.flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
    );
    return { events: events.length, activities, requests, counts: run!.counts, runId: run!.runId! };
  }

  async function checkLake(): Promise<void> {
    expect((await verifySnapshot(stack.store, RESOURCE)).problems).toEqual([]);
    await expectMirrored(stack, RESOURCE);
    const { snapshot } = await readPointer(stack.store, RESOURCE);
    const folder = folderOf(snapshot);
    const report = (await stack.store.read(`${folder}/${REPORT}` as typeof snapshot)).toString();
    for await (const run of runsOfChain()) expect(report).toContain(run);
  }

  async function* runsOfChain(): AsyncGenerator<string> {
    const { RunChain } = await import('../../../src/lake/published/chain.js');
    const pointer = { ...(await readPointer(stack.store, RESOURCE)), resource: RESOURCE };
    for await (const { runId } of new RunChain(stack.store, pointer)) yield runId;
  }

  it('takes one activity, at most 25 events and 10 requests to the store', async () => {
    await start();
    for (const changes of [0, 0, 3, 0]) {
      if (changes > 0) stack.simulator.admin.touch(RESOURCE, { count: changes, pick: 'spread' });
      const cost = await night();
      expect(cost.activities).toEqual(['worktrack.shortRun']);
      expect(cost.events).toBeLessThanOrEqual(25);
      expect(cost.requests.length).toBeLessThanOrEqual(10);
      await checkLake();
    }
    const { snapshot } = await readPointer(stack.store, RESOURCE);
    const manifest = decodeManifest(await stack.store.read(snapshot), folderOf(snapshot));
    expect(manifest.recentRuns?.length).toBe(4);
  });
});
