import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A way to a server whose answers come so many milliseconds later, each connection's in their order. */
export async function startSlowWay(target, ms) {
  const { hostname, port } = new URL(target);
  const open = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    client.on('data', (bytes) => setTimeout(() => upstream.write(bytes), ms));
    upstream.on('data', (bytes) => client.write(bytes));
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
