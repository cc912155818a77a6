import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ATTACKS } from '../../unit/linear/attacks.js';

const STATUSES = [403, 503, 200, 400, 429, 404] as const;
const TEXTS = Object.values(ATTACKS);
const TEXT_CHARS = 60_000;
const CHUNK = Buffer.alloc(64 * 1024, 'x');

/** How a service answers its n-th request, from 0. */
type Hostility = (response: ServerResponse, n: number) => void;

/** Writes until the client closes the connection. @param everyMs pause after each chunk */
function writeForever(response: ServerResponse, chunk: Buffer | string, everyMs: number): void {
  const timer = setInterval(() => void response.write(chunk), everyMs);
  response.once('close', () => clearInterval(timer));
}

/** Services that try to stop, fill or occupy a worker, by name. */
export const HOSTILITIES: Readonly<Record<string, Hostility>> = {
  texts: (response, n) => {
    response.writeHead(STATUSES[n % STATUSES.length]!, { 'content-type': 'text/html' });
    response.end(TEXTS[n % TEXTS.length]!(TEXT_CHARS));
  },
  silent: () => {},
  dripping: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    writeForever(response, ' ', 500);
  },
  endless: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[{"id":"');
    writeForever(response, CHUNK, 5);
  },
  nested: (response) => response.end(`{"data":${'['.repeat(500_000)}`),
  'without end': (response, n) => {
    const data = Array.from({ length: 50 }, (_, at) => ({ id: `${n}-${at}`, name: 'x'.repeat(200) }));
    response.end(JSON.stringify({ data, page: { limit: 50, nextCursor: `c${n}` } }));
  },
  redirecting: (response, n) => response.writeHead(302, { location: `/again/${n}` }).end(),
  breaking: (response) => {
    response.writeHead(200, { 'content-length': '99999' });
    response.write('{"data":[', () => response.socket?.destroy());
  },
  impatient: (response) => response.writeHead(429, { 'retry-after': '1' }).end('{}'),
};

export interface HostileService {
  readonly name: string;
  readonly url: string;
  readonly requests: () => number;
  readonly close: () => void;
}

/** Starts a service of each kind. */
export function startHostileServices(): Promise<HostileService[]> {
  return Promise.all(
    Object.entries(HOSTILITIES).map(async ([name, answer]) => {
      let requests = 0;
      const server = createServer((request, response) => {
        request.resume();
        response.on('error', () => {});
        answer(response, requests++);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const close = (): void => {
        server.closeAllConnections();
        server.close();
      };
      return { name, url: `http://127.0.0.1:${port}`, requests: () => requests, close };
    }),
  );
}
