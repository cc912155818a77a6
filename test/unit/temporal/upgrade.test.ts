import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { lostText, stepLines } from '../../../src/cli/worker/upgrade-command.js';
import type { TemporalClient } from '../../../src/temporal/client/connect.js';
import type { UpgradeStep } from '../../../src/temporal/versions/upgrade.js';

const TIMERS = 'node:timers/promises';

let untilKnown: typeof import('../../../src/temporal/versions/upgrade.js').untilKnown;
let upgradeTo: typeof import('../../../src/temporal/versions/upgrade.js').upgradeTo;

// Other files of this process may have loaded the module with real waits, and need them again. Timers still run, so that a test of
// an upgrade that never ends has a limit of time.
beforeAll(async () => {
  vi.doMock(TIMERS, () => ({ setTimeout: () => new Promise((resolve) => setImmediate(resolve)) }));
  vi.resetModules();
  ({ untilKnown, upgradeTo } = await import('../../../src/temporal/versions/upgrade.js'));
});
afterAll(() => {
  vi.doUnmock(TIMERS);
  vi.resetModules();
});

const failed = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no' });
const NOT_FOUND = failed(5);

/** The outcome of a call that fails in these ways before it succeeds, and how often it was made. */
async function outcome(failures: readonly Error[], appearsWithinMs = 60_000) {
  let calls = 0;
  const call = async () => {
    const failure = failures[calls++];
    if (failure !== undefined) throw failure;
    return 'known';
  };
  const end = await untilKnown(call, { appearsWithinMs }, 1).catch((error: unknown) => error);
  return { end, calls };
}

describe('an upgrade whose worker polls', () => {
  it('asks again if a busy server does not know the deployment', async () => {
    expect(await outcome([NOT_FOUND, NOT_FOUND])).toEqual({ end: 'known', calls: 3 });
  });

  it('ends with what else is wrong, and with a deployment that stays unknown', async () => {
    const denied = failed(7);
    expect(await outcome([NOT_FOUND, denied, denied])).toEqual({ end: denied, calls: 2 });
    expect(await outcome([NOT_FOUND, NOT_FOUND], -1)).toEqual({ end: NOT_FOUND, calls: 1 });
  });
});

const of = (buildId: string) => ({ deploymentName: 'd', buildId });

/** An earlier build: its status of each look (1: draining, 2: drained), its workflows, and whether a worker of it polls. */
interface Earlier {
  readonly looks: readonly (1 | 2)[];
  readonly workflows: number;
  readonly polls: boolean;
  /** The task queue of its workflows, besides `jobs`. */
  readonly queue?: string;
}

/** A server with a current build, workers of build `3`, and earlier builds. */
function serverWith(current: string | null, earlier: Readonly<Record<string, Earlier>>) {
  let is = current;
  const made: string[] = [];
  const looks = new Map(Object.entries(earlier).map(([buildId, { looks }]) => [buildId, [...looks]]));
  const statusOf = (buildId: string): number => {
    const left = looks.get(buildId) ?? [];
    return (left.length > 1 ? left.shift() : left[0]) ?? 0;
  };
  const polling = ['3', ...Object.keys(earlier).filter((buildId) => earlier[buildId]!.polls)];
  const client = {
    options: { identity: 'test' },
    connection: { withDeadline: (_: number, call: () => Promise<unknown>) => call() },
    workflow: {
      async count(query: string) {
        const [, queue, buildId] = /^TaskQueue = '(.*?)'.*'d:(.*?)'/.exec(query)!;
        const { workflows, queue: own = 'jobs' } = earlier[buildId!]!;
        return { count: queue === own ? workflows : 0 };
      },
      getHandle: () => ({ describe: () => Promise.reject(new Error('there is no record')) }),
    },
    workflowService: {
      async describeWorkerDeploymentVersion({
        deploymentVersion: { buildId },
      }: {
        readonly deploymentVersion: { readonly buildId: string };
      }) {
        const queues = ['jobs', earlier[buildId]?.queue ?? 'jobs'];
        const taskQueueInfos = queues.flatMap((name) => [1, 2].map((type) => ({ name, type })));
        const drainageInfo = { status: statusOf(buildId) };
        return { workerDeploymentVersionInfo: { taskQueueInfos, drainageInfo } };
      },
      async describeWorkerDeployment() {
        // The newest first.
        const builds = Object.keys(earlier).sort().reverse();
        const versionSummaries = builds.map((buildId) => ({
          deploymentVersion: of(buildId),
          drainageInfo: buildId === is ? null : { status: looks.get(buildId)![0] },
        }));
        const routingConfig = { currentDeploymentVersion: is === null ? null : of(is) };
        return { workerDeploymentInfo: { routingConfig, versionSummaries } };
      },
      async setWorkerDeploymentCurrentVersion({ buildId }: { readonly buildId: string }) {
        made.push(buildId);
        is = buildId;
      },
      async describeTaskQueue({ taskQueue }: { readonly taskQueue: { readonly name: string } }) {
        const lastAccessTime = { seconds: Math.floor(Date.now() / 1000), nanos: 0 };
        const here = polling.filter((buildId) => (earlier[buildId]?.queue ?? 'jobs') === taskQueue.name);
        const pollers = here.map((buildId) => ({
          ...{ identity: `worker of ${buildId}`, lastAccessTime },
          deploymentOptions: { workerVersioningMode: 2, ...of(buildId) },
        }));
        return { pollers };
      },
    },
  };
  return { temporal: { client, namespace: 'default', address: 'here' } as unknown as TemporalClient, made };
}

/** The steps of an upgrade to build `3`, and the last one. */
async function upgrade(
  temporal: TemporalClient,
  options: { waits?: boolean; appearsWithinMs?: number } = {},
) {
  const steps: UpgradeStep[] = [];
  const onStep = (step: UpgradeStep) => void steps.push(step);
  const last = await upgradeTo(temporal, of('3'), { taskQueue: 'jobs', onStep, ...options });
  return { steps, last };
}

describe('an upgrade to the build that is current already', () => {
  it('waits for all earlier builds that drain', async () => {
    const { temporal, made } = serverWith('3', {
      2: { looks: [1, 1, 2], workflows: 4, polls: true },
      1: { looks: [1, 1, 1, 2], workflows: 1, polls: true },
      0: { looks: [2], workflows: 0, polls: false },
    });
    const { steps, last } = await upgrade(temporal);
    expect(made).toEqual([]);
    expect(steps).toEqual([
      { step: 'current', before: of('2'), changed: false, draining: [of('2'), of('1')] },
      { step: 'draining', before: of('2'), lost: 0, taskQueues: [] },
      { step: 'draining', before: of('1'), lost: 0, taskQueues: [] },
      { step: 'drained', before: of('2') },
      { step: 'drained', before: of('1') },
    ]);
    expect(last).toEqual({ step: 'drained', before: of('1') });
  });

  it('ends immediately only if nothing drains', async () => {
    const { temporal } = serverWith('3', { 2: { looks: [2], workflows: 0, polls: true } });
    const current = { step: 'current', before: null, changed: false, draining: [] };
    expect(await upgrade(temporal)).toEqual({ steps: [current], last: current });
  });

  it('says without waiting which builds drain, and which of them have lost their workers', async () => {
    const { temporal } = serverWith('3', {
      2: { looks: [1], workflows: 4, polls: true },
      1: { looks: [1], workflows: 250, polls: false },
    });
    const { steps, last } = await upgrade(temporal, { waits: false });
    expect(last).toMatchObject({ step: 'current', before: of('2'), draining: [of('2'), of('1')] });
    const place = { version: of('3'), taskQueue: 'jobs', waits: false };
    expect(steps.flatMap((step) => stepLines(step, place))).toEqual([
      'Build 3 is the current version already.',
      'Keep the workers of build 2 until their runs have ended. ' +
        'To wait for that: worktrack upgrade 3 --deployment-name d --task-queue jobs',
      '250 workflows of build 1 cannot end, because none of its workers polls. Start one, or move them: `worktrack unpin --task-queue jobs`',
    ]);
  });

  it('does not wait forever for builds that have lost their workers', async () => {
    const { temporal } = serverWith('3', {
      2: { looks: [1, 1, 2], workflows: 4, polls: true },
      1: { looks: [1], workflows: 250, polls: false },
    });
    const { steps, last } = await upgrade(temporal, { appearsWithinMs: 0 });
    expect(last).toEqual({ step: 'draining', before: of('1'), lost: 250, taskQueues: ['jobs'] });
    // First it waits for the build that can drain.
    expect(steps.at(-1)).toEqual({ step: 'drained', before: of('2') });
  });
});

describe('an upgrade of a deployment with several task queues', () => {
  it('does not wait forever for a lost build whose runs are on another task queue', async () => {
    const { temporal } = serverWith('3', { 1: { looks: [1], workflows: 2, polls: false, queue: 'other' } });
    const { last } = await upgrade(temporal, { appearsWithinMs: 0 });
    expect(last).toEqual({ step: 'draining', before: of('1'), lost: 2, taskQueues: ['other'] });
    const place = { version: of('3'), taskQueue: 'jobs', waits: true };
    expect(stepLines(last, place)[0]).toContain('`worktrack unpin --task-queue other`');
    expect(lostText(['1'], ['other'], place)).toContain('or run `worktrack unpin --task-queue other`.');
  });

  it('waits for a build whose workers poll only the other one, where its runs are', async () => {
    const earlier = { looks: [1, 1, 1, 2], workflows: 2, polls: true, queue: 'other' } as const;
    const { steps, last } = await upgrade(serverWith('3', { 1: earlier }).temporal, { appearsWithinMs: 0 });
    expect(steps[1]).toEqual({ step: 'draining', before: of('1'), lost: 0, taskQueues: [] });
    expect(last).toEqual({ step: 'drained', before: of('1') });
  });
});

describe('an upgrade that makes a build current', () => {
  it('waits for the build before, and for those of earlier upgrades', async () => {
    const { temporal, made } = serverWith('2', {
      2: { looks: [1, 2], workflows: 4, polls: true },
      1: { looks: [1, 1, 2], workflows: 1, polls: true },
    });
    const { steps, last } = await upgrade(temporal);
    expect(made).toEqual(['3']);
    expect(steps[0]).toEqual({
      ...{ step: 'current', before: of('2'), changed: true },
      draining: [of('2'), of('1')],
    });
    expect(last).toEqual({ step: 'drained', before: of('1') });
  });

  it('waits for earlier builds even if workers without a version were current', async () => {
    const { temporal } = serverWith(null, { 1: { looks: [1, 2], workflows: 1, polls: true } });
    const { steps, last } = await upgrade(temporal);
    expect(steps[0]).toMatchObject({ before: null, changed: true, draining: [of('1')] });
    expect(last).toEqual({ step: 'drained', before: of('1') });
  });
});
