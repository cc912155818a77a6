import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Bytes that went through a proxy, HTTP headers and all. */
export interface Transferred {
  /** To the server. */
  readonly sent: number;
  /** From the server. */
  readonly received: number;
}

export interface CountingProxy {
  /** In place of the server's own URL; requests stay as they were signed. */
  readonly url: string;
  transferred(): Transferred;
  reset(): void;
  close(): Promise<void>;
}

/** Passes TCP on to the server at `target`, counting what passes. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let count = { sent: 0, received: 0 };
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.on('data', (bytes) => {
      count.sent += bytes.length;
    });
    upstream.on('data', (bytes) => {
      count.received += bytes.length;
    });
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
      socket.on('close', () => open.delete(socket));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    transferred: () => ({ ...count }),
    reset() {
      count = { sent: 0, received: 0 };
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
