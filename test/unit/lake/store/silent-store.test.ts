import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { pointerKey } from '../../../../src/lake/documents/lake-layout.js';
import { openStore } from '../../../../src/lake/store/index.js';

it('ends a read from a store that accepts connections and does not answer when its signal is aborted', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'silent');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'silent');
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const store = openStore({ url: 's3://lake', endpoint: `http://127.0.0.1:${port}`, forcePathStyle: true });
  onTestFinished(() => {
    vi.unstubAllEnvs();
    store.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const stop = new AbortController();
  const read = store.readIfExists(pointerKey('tasks'), { signal: stop.signal });
  const ended = read.catch((error: unknown) => error);
  await once(server, 'connection');
  const reason = new Error('the worker stops');
  stop.abort(reason);
  expect(await ended).toBe(reason);
  expect(sockets).toHaveLength(1);
});
