import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { afterEach, describe, expect, it } from 'vitest';
import { shippedBundle } from '../../../src/temporal/worker/bundle.js';
import { IDLE_MS } from '../../../src/temporal/worker/connections.js';
import { WorktrackPlugin } from '../../../src/temporal/worker/plugin.js';
import { type Stack, startStack, until } from '../../support/stack.js';

describe('WorktrackPlugin in a worker of the user', () => {
  let stack: Stack;
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
    await stack?.stop();
  });

  /** What a user's worker is made of. */
  async function base(plugins: WorktrackPlugin[] = []): Promise<WorkerOptions> {
    const connection = await NativeConnection.connect({ address: stack.servers.temporalAddress, plugins });
    closing.push(() => connection.close());
    return { connection, taskQueue: stack.taskQueue, workflowBundle: shippedBundle() };
  }

  it('closes its connections to the service when the last of its workers has ended', async () => {
    const service = await refusingService();
    closing.push(() => new Promise((resolve) => service.close(resolve)));
    const { port } = service.address() as AddressInfo;
    stack = await startStack({ resources: '[projects]', baseUrl: `http://127.0.0.1:${port}` });
    const plugin = new WorktrackPlugin({ settings: stack.settings });
    const options = await base();
    const workers = [
      await Worker.create({ ...options, plugins: [plugin] }),
      await Worker.create({ ...options, taskQueue: `other-${stack.taskQueue}`, plugins: [plugin] }),
    ] as const;
    const [serving, other] = workers.map((worker) => worker.run());
    expect((await stack.export()).outcome).toBe('refused');
    workers[1].shutdown();
    await other;
    // The other worker has ended; this one may continue using them.
    expect(await openSockets(service)).toBeGreaterThan(0);
    workers[0].shutdown();
    await serving;
    // Sooner than idle connections are closed.
    await until(async () => (await openSockets(service)) === 0, 'no connection is open', IDLE_MS / 2);
  });

  it('can be passed to the connection and to the worker, and keeps settings of the user', async () => {
    stack = await startStack({
      resources: '[projects]',
      simulator: { awkward: false, counts: { projects: 3 } },
    });
    const plugins = [new WorktrackPlugin({ configFile: stack.configFile })];
    const worker = await Worker.create({
      ...(await base(plugins)),
      plugins,
      shutdownGraceTime: '7 seconds',
      activities: { mine: async () => 1 },
    });
    expect(worker.options.shutdownGraceTime).toBe('7 seconds');
    expect([...worker.options.activities.keys()]).toContain('mine');
    // The SDK's own limit is 5 s. Its type does not have the option, so a release that ignores it would say nothing.
    expect(worker.options.isolateExecutionTimeoutMs).toBe(60_000);
    const running = worker.run();
    expect((await stack.export()).outcome).toBe('published');
    worker.shutdown();
    await running;
  });

  it('gives activities time to save their positions if the user has set no grace time', async () => {
    stack = await startStack({ resources: '[projects]' });
    const plugin = new WorktrackPlugin({ settings: stack.settings });
    const configured = plugin.configureWorker({ ...(await base()), debugMode: true });
    expect(configured.shutdownGraceTime).toBe('30 seconds');
    // With `debugMode`, the SDK sets no limit.
    expect(configured).not.toHaveProperty('isolateExecutionTimeout');
  });

  it('rejects a user activity that has the name of a connector activity, and a missing configuration', async () => {
    stack = await startStack({ resources: '[projects]' });
    const plugin = new WorktrackPlugin({ settings: stack.settings });
    const options = await base();
    await expect(
      Worker.create({ ...options, plugins: [plugin, new WorktrackPlugin({ settings: stack.settings })] }),
    ).rejects.toThrow('an activity named "worktrack.planExport" already exists');
    const nowhere = new WorktrackPlugin({ configFile: `${stack.folder}/nowhere.yaml` });
    await expect(Worker.create({ ...options, plugins: [nowhere] })).rejects.toThrow('nowhere.yaml');
  });
});

/** Refuses every request and asks that connections be kept for ten minutes. */
async function refusingService(): Promise<Server> {
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
    response.setHeader('Keep-Alive', 'timeout=600').writeHead(401).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function openSockets(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
