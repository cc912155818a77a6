import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Bytes that went through a proxy, including HTTP headers. */
export interface Transferred {
  /** To the server. */
  readonly sent: number;
  /** From the server. */
  readonly received: number;
}

export interface TcpProxy {
  /** Host and port, to use in place of the server's own. */
  readonly address: string;
  transferred(): Transferred;
  /** Number of open connections. */
  open(): number;
  /** Number of connections so far. */
  accepted(): number;
  reset(): void;
  /** Stalls all connections, also later ones: they stay open, but no more bytes arrive. */
  stall(): void;
  /** Forwards later connections again. The stalled ones stay so. */
  resume(): void;
  close(): Promise<void>;
}

/**
 * Forwards TCP connections to `target` (host:port) unchanged, and counts their bytes.
 *
 * @param listenOn its own port; 0: a free one
 */
export async function startTcpProxy(target: string, listenOn = 0): Promise<TcpProxy> {
  const [host = '', port = ''] = target.split(':');
  const open = new Set<Socket>();
  let count = { sent: 0, received: 0 };
  let accepted = 0;
  let isStalled = false;
  const server = createServer((client) => {
    accepted++;
    const upstream = connect(Number(port), host);
    client.on('data', (bytes) => {
      count.sent += bytes.length;
    });
    upstream.on('data', (bytes) => {
      count.received += bytes.length;
    });
    if (!isStalled) client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
      socket.on('close', () => open.delete(socket));
    }
  });
  server.listen(listenOn, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    transferred: () => ({ ...count }),
    open: () => Math.ceil(open.size / 2),
    accepted: () => accepted,
    reset() {
      count = { sent: 0, received: 0 };
    },
    stall() {
      isStalled = true;
      for (const socket of open) {
        socket.unpipe();
        socket.pause();
      }
    },
    resume() {
      isStalled = false;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
