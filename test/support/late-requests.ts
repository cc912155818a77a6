import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that changes something in the store. */
export interface WriteRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Number among the writes since the proxy was asked to hold one, from 0. */
  readonly number: number;
}

/** A request that was sent and has not reached the store yet. */
export interface LateRequest extends WriteRequest {
  /** Carries it out now. Resolves to the store's status. */
  deliver(): Promise<number>;
}

export interface LateRequests {
  /** In place of the server's own URL. */
  readonly url: string;
  /**
   * Holds the next matching write and disconnects its sender: every connection is closed, and later requests of that
   * sender get no response until `reconnect`. Resolves when the request has arrived at the proxy.
   */
  hold(match: (write: WriteRequest) => boolean): Promise<LateRequest>;
  /** Lets requests through again, and holds none. Returns the writes since `hold`. */
  reconnect(): readonly WriteRequest[];
  close(): Promise<void>;
}

interface Kept {
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
}

/**
 * A proxy in front of an S3 server that simulates an attempt which loses the network while its request is in flight. The
 * sender gets no response, another attempt takes over, and the request is carried out late, with its original signature. PUT (also copies and conditional writes), POST (removals, uploads in parts) and DELETE count as writes.
 */
export async function startLateRequests(target: string): Promise<LateRequests> {
  const { hostname, port } = new URL(target);
  let match: ((write: WriteRequest) => boolean) | null = null;
  let onHeld: (late: LateRequest) => void = () => {};
  let isCut = false;
  let seen: WriteRequest[] = [];

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => incoming.socket.destroy());
  });

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (isCut) return void incoming.socket.destroy();
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    if (isCut) return void incoming.socket.destroy();
    const kept: Kept = { incoming, body: Buffer.concat(chunks) };
    const { method = 'GET', url = '/' } = incoming;
    if (match !== null && ['PUT', 'POST', 'DELETE'].includes(method)) {
      const write: WriteRequest = { method, url, number: seen.length };
      seen.push(write);
      if (match(write)) {
        match = null;
        isCut = true;
        server.closeAllConnections();
        return onHeld({ ...write, deliver: () => forward(kept, null) });
      }
    }
    await forward(kept, outgoing);
  }

  function forward({ incoming, body }: Kept, outgoing: ServerResponse | null): Promise<number> {
    return new Promise((resolve, reject) => {
      const upstream = request({
        hostname,
        port,
        method: incoming.method,
        path: incoming.url,
        headers: withoutHopByHop(incoming.rawHeaders),
        setHost: false,
        agent: false,
      });
      upstream.on('error', reject);
      upstream.on('response', (response) => {
        const status = response.statusCode ?? 502;
        response.on('error', reject);
        response.on('end', () => resolve(status));
        if (outgoing === null) return void response.resume();
        outgoing.writeHead(status, response.rawHeaders);
        response.pipe(outgoing);
      });
      upstream.end(body);
    });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(which) {
      seen = [];
      match = which;
      return new Promise((resolve) => {
        onHeld = resolve;
      });
    },
    reconnect() {
      match = null;
      isCut = false;
      return seen;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The body is sent whole, so its own encoding and expectations of the connection end here; all of it is unsigned. */
function withoutHopByHop(rawHeaders: readonly string[]): string[] {
  const own = ['connection', 'keep-alive', 'expect', 'transfer-encoding'];
  return rawHeaders.filter((_, at, all) => !own.includes(all[at - (at % 2)]!.toLowerCase()));
}
