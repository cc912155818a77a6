import { ApplicationFailure } from '@temporalio/activity';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { createActivities } from '../../../activities/index.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { Activities } from '../../../src/core/contract/index.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { shippedBundle } from '../../../src/temporal/worker/bundle.js';
import { type Connections, openConnections } from '../../../src/temporal/worker/connections.js';
import { mirrorOf, mirrorStatus } from '../../support/mirror-requests.js';
import { expectMirrored } from '../../support/mirrored.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const RESOURCE = 'tasks';
const POINTER = pointerKey(RESOURCE);
type Swap = ObjectStore['swap'];

/** The same connections, whose stores swap `latest.json` in another way. */
function withSwap(connections: Connections, swap: (store: ObjectStore) => Swap): Connections {
  const connection: Connections['connection'] = (name) => {
    const open = connections.connection(name);
    const store = new Proxy(open.store, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        if (property !== 'swap') return value.bind(target);
        // The probe of the store swaps other objects.
        return (...given: Parameters<Swap>) =>
          (given[0] === POINTER ? swap(target) : target.swap.bind(target))(...given);
      },
    });
    return { settings: open.settings, client: open.client, store };
  };
  return Object.defineProperty(Object.create(connections), 'connection', { value: connection });
}

describe('the swap of a run in memory that arrives after its attempt was replaced', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  /** Delivers the lost swap. */
  let late: (() => ReturnType<Swap>) | null;

  /**
   * Starts a worker and publishes a first run. The first attempt of the run after it loses the network while its
   * swap is in flight.
   *
   * @param failure of that attempt
   * @param changed activities that differ from the real ones
   */
  async function start(
    failure: () => Error,
    changed: (connections: Connections) => Partial<Activities> = () => ({}),
  ): Promise<void> {
    late = null;
    let isArmed = false;
    stack = await startStack({
      resources: `[${RESOURCE}]`,
      simulator: { awkward: false, counts: { [RESOURCE]: 12 } },
    });
    const connections = openConnections(stack.settings);
    const real = createActivities(connections);
    const cut = createActivities(
      withSwap(connections, (store) => async (...given) => {
        late = () => store.swap(...given);
        throw failure();
      }),
    );
    const activities = { ...real, ...changed(connections) };
    const { 'worktrack.run': later } = activities;
    const run: Activities['worktrack.run'] = (input) =>
      isArmed && late === null ? cut['worktrack.run'](input) : later(input);
    const connection = await NativeConnection.connect({ address: stack.servers.temporalAddress });
    const worker = await Worker.create({
      connection,
      taskQueue: stack.taskQueue,
      workflowBundle: shippedBundle(),
      activities: { ...activities, 'worktrack.run': run },
    });
    const running = worker.run();
    stack.beforeStop(async () => {
      worker.shutdown();
      await running;
      await connection.close();
      await connections.close();
    });
    expect((await stack.export()).outcome).toBe('published');
    isArmed = true;
    stack.simulator.admin.touch(RESOURCE, { count: 2, pick: 'spread' });
  }

  async function objectsWith(text: string): Promise<ObjectKey[]> {
    const keys: ObjectKey[] = [];
    for await (const { key } of stack.store.list('')) if (key.includes(text)) keys.push(key);
    return keys;
  }

  it('publishes a complete run even if the run was cancelled', async () => {
    const unreachable = { message: 'the network is lost', nextRetryDelay: '10 minutes' } as const;
    await start(() => ApplicationFailure.create(unreachable));
    const { client } = stack.temporal;
    const handle = await client.workflow.start('exportWorkflow', {
      workflowId: `${stack.connection}-export-cancelled`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection }],
    });
    await until(async () => {
      const { raw } = await mirrorOf(stack, RESOURCE).describe();
      return late !== null && raw.pendingActivities?.[0]?.attempt === 2;
    }, 'the run waits for its second attempt');
    await handle.cancel();
    await until(
      async () => (await mirrorStatus(stack, RESOURCE)).lastRun?.outcome === 'cancelled',
      'the run is cancelled',
    );

    expect(await late!()).toMatchObject({ outcome: 'written' });
    await expectMirrored(stack, RESOURCE);
    stack.simulator.admin.touch(RESOURCE, { count: 2, pick: 'spread' });
    const [next] = (await stack.export()).runs;
    expect(next!.error).toBeNull();
    await expectMirrored(stack, RESOURCE);
  });

  it('leaves the same run in the lake unpublished, and the sweep removes it', async () => {
    await start(
      () => new Error('the network is lost'),
      (connections) => {
        const overtaken = createActivities(
          withSwap(connections, (store) => async (...given) => {
            await late?.();
            return store.swap(...given);
          }),
        );
        return { 'worktrack.publish': overtaken['worktrack.publish'] };
      },
    );
    const [run] = (await stack.export()).runs;
    expect(run!.error).toBeNull();
    expect(late).not.toBeNull();
    const runs = new Set<string>();
    for await (const { key } of stack.store.list(`${RESOURCE}/snapshots/`))
      runs.add(/run=([^/]+)/.exec(key)![1]!);
    expect([...runs].sort().at(-1)).toBe(run!.runId);
    // That of the first export, and the one whose swap was late.
    expect(runs.size).toBe(2);
    expect(await objectsWith('_staging/tasks')).toEqual([]);
    await expectMirrored(stack, RESOURCE);
  });
});
