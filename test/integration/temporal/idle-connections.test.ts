import { afterEach, describe, expect, inject, it } from 'vitest';
import type { OpenConnection } from '../../../activities/index.js';
import { parseSettings } from '../../../src/config/index.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { type Connections, IDLE_MS, openConnections } from '../../../src/temporal/worker/connections.js';
import { holdAnswer } from '../../support/hold.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';

/** Long enough that the requests of a test keep the connection open. */
const SHORT_MS = 300;

describe('an idle connection of a worker', () => {
  let stack: Stack;
  let proxies: TcpProxy[] = [];
  let connections: Connections;
  afterEach(async () => {
    await connections?.close();
    await stack?.stop();
    for (const proxy of proxies) await proxy.close();
    proxies = [];
  });

  async function open(idleMs?: number): Promise<void> {
    stack = await startStack({ s3: true, resources: '[projects]', simulator: { counts: { projects: 3 } } });
    const store = await startTcpProxy(new URL(inject('servers').s3Endpoint).host);
    const service = await startTcpProxy(new URL(stack.simulator.url).host);
    proxies = [store, service];
    const [connection] = stack.settings.connections;
    const { lake } = connection!;
    const yaml = `connections:
  ${stack.connection}:
    baseUrl: http://${service.address}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${lake.url}", endpoint: "http://${store.address}", region: ${lake.region}, forcePathStyle: true }
    resources: [projects]
`;
    connections = openConnections(parseSettings(yaml, 'worktrack.yaml'), { idleMs });
  }

  /** An activity that uses the connection. */
  function during<T>(work: (connection: OpenConnection) => Promise<T>): Promise<T> {
    return connections.during('test', null, () => work(connections.connection(stack.connection)));
  }

  async function use(): Promise<void> {
    await during(async ({ store, client }) => {
      expect(await store.readIfExists(pointerKey('projects'))).toBeNull();
      const request = { resource: 'projects', path: 'projects', limit: 2, cursor: null, updatedSince: null };
      const { status } = await client.listPage(request, () => null);
      expect(status).toBe(200);
    });
  }

  const sockets = (): number[] => proxies.map((proxy) => proxy.open());

  it('closes its sockets and clients, and opens them again when it is used', async () => {
    await open(SHORT_MS);
    for (let times = 0; times < 2; times++) {
      await use();
      expect(proxies.map((proxy) => proxy.accepted())).toEqual([times + 1, times + 1]);
      await until(() => !connections.isOpen(stack.connection), 'the connection is closed');
      await until(() => sockets().every((open) => open === 0), 'the sockets are closed');
    }
  });

  /** Waits for longer than an idle connection stays open, and checks that this one is. */
  async function staysOpen(): Promise<void> {
    const since = Date.now();
    await until(() => Date.now() - since > 4 * SHORT_MS, 'an idle connection would be closed');
    expect(connections.isOpen(stack.connection)).toBe(true);
  }

  it('stays open while a write is in progress, however long it takes', async () => {
    await open(SHORT_MS);
    await during(async ({ store }) => {
      const writer = store.openWriter('projects/snapshots/a' as never);
      await staysOpen();
      await writer.write(Buffer.from('a'));
      expect((await writer.finish()).bytes).toBe(1);
    });
    await until(() => !connections.isOpen(stack.connection), 'the connection is closed');
  });

  it('stays open while a request is in progress, however long it takes', async () => {
    await open(SHORT_MS);
    const held = holdAnswer(stack.simulator, { resource: 'projects' });
    const request = { resource: 'projects', path: 'projects', limit: 2, cursor: null, updatedSince: null };
    const listing = during(({ client }) => client.listPage(request, () => null));
    await until(held.isThere, 'the request is under way');
    await staysOpen();
    held.release();
    expect((await listing).status).toBe(200);
    await until(() => !connections.isOpen(stack.connection), 'the connection is closed');
  });

  it('shares the sockets of its store with other lakes in the same store, until the last one is closed', async () => {
    await open(SHORT_MS);
    const [proxy] = proxies;
    const { url, region } = stack.settings.connections[0]!.lake;
    const lake = { endpoint: `http://${proxy!.address}`, region, forcePathStyle: true };
    const stores = ['a', 'b'].map((prefix) => openStore({ ...lake, url: `${url}/${prefix}` }));
    // Another region means other signatures, so it has clients and sockets for itself.
    stores.push(openStore({ ...lake, url, region: 'eu-west-3' }));
    const [first, second, elsewhere] = stores as [ObjectStore, ObjectStore, ObjectStore];
    const read = (store: ObjectStore) => store.readIfExists(pointerKey('projects'));
    expect(await read(first)).toBeNull();
    expect(await read(second)).toBeNull();
    expect(proxy!.accepted()).toBe(1);
    await read(elsewhere).catch(() => {});
    expect(proxy!.accepted()).toBe(2);
    elsewhere.close();
    first.close();
    first.close();
    expect(await read(second)).toBeNull();
    expect(proxy!.accepted()).toBe(2);
    second.close();
    await until(() => sockets()[0] === 0, 'the sockets are closed');
  });

  it('is closed within a minute by default', () => {
    expect(IDLE_MS).toBeLessThan(60_000);
  });
});
