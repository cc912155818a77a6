import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A proxy that tunnels each host to this machine, as if it alone could resolve it. */
export interface ConnectProxy {
  readonly url: string;
  /** The heads of all requests that the proxy itself received. */
  readonly heads: string[];
  /** Host and port of each tunnel. */
  readonly targets: string[];
  close(): Promise<void>;
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const heads: string[] = [];
  const targets: string[] = [];
  const server: Server = createServer((request, response) => {
    heads.push([request.method, request.url, ...request.rawHeaders].join(' '));
    response.writeHead(405).end();
  });
  server.on('connect', (request, socket, head) => {
    heads.push([request.method, request.url, ...request.rawHeaders].join(' '));
    targets.push(request.url!);
    const to = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      to.write(head);
      socket.pipe(to).pipe(socket);
    });
    const end = (): void => {
      to.destroy();
      socket.destroy();
    };
    to.on('error', end).on('close', end);
    socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    url: `http://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}`,
    heads,
    targets,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
