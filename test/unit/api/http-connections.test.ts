import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpConnections } from '../../../src/api/http-connections.js';
import { listen } from './support.js';

const LIMITS = { connections: 1, connectTimeoutMs: 10_000, headersTimeoutMs: 10_000, bodyTimeoutMs: 10_000 };
const SMALL = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A server that gets each connection, and the connections of a client to it. */
async function connected(onSocket: (socket: Socket) => void, limits: Partial<typeof LIMITS> = {}) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    onSocket(socket);
  });
  onTestFinished(() => void server.close());
  const connections = new HttpConnections(await listen(server), { ...LIMITS, ...limits });
  onTestFinished(() => connections.close());
  return connections;
}

/** Sends a request. Resolves to the calls of its handler. */
function calls(connections: HttpConnections, headers = {}): Promise<unknown[]> {
  const found: unknown[] = [];
  return new Promise((resolve) => {
    connections.send(
      { method: 'GET', path: '/', headers },
      {
        onStart: () => found.push('start'),
        onHead: (status, { 'retry-after': after }) =>
          found.push(status, ...(after === undefined ? [] : [after])),
        onData: (chunk) => found.push(String(chunk)),
        onEnd: () => resolve([...found, 'end']),
        onError: (error) => resolve([...found, (error as NodeJS.ErrnoException).code ?? String(error)]),
      },
    );
  });
}

describe('connections to a service', () => {
  it('are used again, and report each part of a response', async () => {
    let sockets = 0;
    const connections = await connected((socket) => {
      sockets++;
      socket.on('data', () => socket.write(SMALL));
    });
    for (let request = 0; request < 3; request++)
      expect(await calls(connections)).toEqual(['start', 200, 'ok', 'end']);
    expect([sockets, connections.surplus]).toEqual([1, 0]);
  });

  it('join the lines of a header that is sent twice', async () => {
    const connections = await connected((socket) =>
      socket.on('data', () =>
        socket.end('HTTP/1.1 503 No\r\nretry-after: 3\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n'),
      ),
    );
    expect(await calls(connections)).toEqual(['start', 503, '3, 9', 'end']);
  });

  it('start no request before they are open', async () => {
    const server = createServer();
    const url = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await calls(new HttpConnections(url, LIMITS))).toEqual(['ECONNREFUSED']);
  });

  it.each([
    ['with the response', (socket: Socket) => socket.write(`${SMALL}surplus`)],
    [
      'later',
      (socket: Socket) => {
        socket.write(SMALL);
        setTimeout(() => socket.write('surplus'), 20);
      },
    ],
  ])(
    'end when bytes arrive behind a response, %s, and the next request has its own response',
    async (_, respond) => {
      const connections = await connected((socket) => socket.once('data', () => respond(socket)));
      expect(await calls(connections)).toEqual(['start', 200, 'ok', 'end']);
      while (connections.surplus === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(await calls(connections)).toEqual(['start', 200, 'ok', 'end']);
    },
  );

  it.each([
    ['HEADERS_TIMEOUT', { headersTimeoutMs: 30 }, '', ['start', 'HEADERS_TIMEOUT']],
    [
      'BODY_TIMEOUT',
      { bodyTimeoutMs: 30 },
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok',
      ['start', 200, 'ok', 'BODY_TIMEOUT'],
    ],
  ])('end with %s', async (_, limits, response, expected) => {
    const connections = await connected((socket) => socket.on('data', () => socket.write(response)), limits);
    expect(await calls(connections)).toEqual(expected);
  });

  it('end with an error when the body is cut', async () => {
    const connections = await connected((socket) =>
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok')),
    );
    expect(await calls(connections)).toEqual(['start', 200, 'ok', 'ECONNRESET']);
  });

  it('close after the requests that are in progress', async () => {
    const connections = await connected((socket) =>
      socket.on('data', () => setTimeout(() => socket.write(SMALL), 20)),
    );
    const both = Promise.all([calls(connections), calls(connections)]);
    await connections.close();
    expect(await both).toEqual([
      ['start', 200, 'ok', 'end'],
      ['start', 200, 'ok', 'end'],
    ]);
  });

  it('throw for headers that cannot be sent, and can be closed then', async () => {
    const connections = new HttpConnections('http://127.0.0.1:9', LIMITS);
    expect(() =>
      connections.send({ method: 'GET', path: '/', headers: { 'a b': 'c' } }, {} as never),
    ).toThrow(TypeError);
    await connections.close();
  });
});
