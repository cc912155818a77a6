import { ApplicationFailure } from '@temporalio/activity';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { createActivities } from '../../../activities/index.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { Activities } from '../../../src/core/contract/index.js';
import { attemptRunIds } from '../../../src/core/run-id.js';
import { pointerKey } from '../../../src/lake/published/layout.js';
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
    return { ...open, store };
  };
  return Object.defineProperty(Object.create(connections), 'connection', { value: connection });
}

describe('the swap of a short run that arrives after its attempt was replaced', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  /** Delivers the lost swap. */
  let late: (() => ReturnType<Swap>) | null;

  /**
   * Starts a worker and publishes a first run. The first attempt of the short run after it loses the network while its
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
    const { 'worktrack.shortRun': later } = activities;
    const shortRun: Activities['worktrack.shortRun'] = (input) =>
      late === null ? cut['worktrack.shortRun'](input) : later(input);
    const connection = await NativeConnection.connect({ address: stack.servers.temporalAddress });
    const worker = await Worker.create({
      connection,
      taskQueue: stack.taskQueue,
      workflowBundle: shippedBundle(),
      activities: { ...activities, 'worktrack.shortRun': shortRun },
    });
    const running = worker.run();
    stack.beforeStop(async () => {
      worker.shutdown();
      await running;
      await connection.close();
      await connections.close();
    });
    expect((await stack.export()).outcome).toBe('published');
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
    }, 'the short run waits for its second attempt');
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

  it('leaves the run of the separate steps unpublished, and the sweep removes it', async () => {
    await start(
      () => new Error('the network is lost'),
      (connections) => {
        const real = createActivities(connections);
        const overtaken = createActivities(
          withSwap(connections, (store) => async (...given) => {
            await late?.();
            return store.swap(...given);
          }),
        );
        const { faults } = stack.simulator.admin;
        return {
          // Hands over, because the list does not end.
          'worktrack.shortRun': async (input) => {
            faults.add({ match: { resource: RESOURCE }, fault: { kind: 'empty-page' } });
            const result = await real['worktrack.shortRun'](input);
            faults.clear();
            return result;
          },
          'worktrack.publish': overtaken['worktrack.publish'],
        };
      },
    );
    const [run] = (await stack.export()).runs;
    expect(run!.error).toBeNull();
    const [first, second, separate] = attemptRunIds(run!.runId!, 3);
    expect(late).not.toBeNull();
    expect(await objectsWith(first!)).not.toEqual([]);
    expect([...(await objectsWith(second!)), ...(await objectsWith(separate!))]).toEqual([]);
    await expectMirrored(stack, RESOURCE);
  });
});
