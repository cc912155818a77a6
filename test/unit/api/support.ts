import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  createServiceClient,
  type ServiceClient,
  type ServiceClientOptions,
} from '../../../src/api/index.js';
import type { ByteString, Cursor } from '../../../src/core/brands.js';
import type { ErrorMapping, HttpSettings } from '../../../src/core/settings.js';
import type { JsonSource } from '../../../src/json/scanner.js';

export const KEY = 'wt_live_9f"8+e/7d==';
export const KEY_VARIABLE = 'WORKTRACK_UNIT_TEST_KEY';

export const MAPPING: ErrorMapping = { refused: [401, 402, 403], transient: [408, 425, 429, '5xx'] };

export const HTTP: HttpSettings = {
  concurrency: 4,
  requestsPerSecond: null,
  connectTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 10_000,
  responseTimeoutMs: 10_000,
  maxBodyBytes: 1024 * 1024,
  allowPlainHttp: false,
  headers: {},
};

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Arrival time by `performance.now()`. */
  readonly at: number;
}

type Answer = (request: Seen, response: ServerResponse, count: number) => void;

/** A service that answers as the test defines and records its requests. `count` is 1 for the first request. */
export async function service(answer: Answer): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createHttpServer((request, response) => {
    const at = performance.now();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString(), at };
      seen.push(one);
      answer(one, response, seen.length);
    });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: await listen(server), seen };
}

/** A TCP server: `answer` gets the socket after a complete request head has arrived. */
export async function rawService(answer: (socket: Socket, count: number) => void): Promise<string> {
  let count = 0;
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (!data.includes('\r\n\r\n')) return;
      count += 1;
      answer(socket, count);
    });
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A client without jitter: it retries immediately unless the service requires a wait. */
export function client(baseUrl: string, options: Partial<ServiceClientOptions> = {}): ServiceClient {
  process.env[KEY_VARIABLE] ??= KEY;
  const made = createServiceClient({
    baseUrl,
    apiKey: { env: KEY_VARIABLE },
    errors: MAPPING,
    http: HTTP,
    random: () => 0,
    ...options,
  });
  onTestFinished(() => made.close());
  return made;
}

export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

export const PAGE = { data: [{ id: 'p1' }], page: { limit: 10, nextCursor: null } };

export const TASKS = {
  resource: 'tasks',
  path: 'tasks',
  limit: 10,
  cursor: null,
  updatedSince: null,
} as const;

export function parseJson(body: ByteString | JsonSource): unknown {
  return JSON.parse(Buffer.from(body.slice(0), 'latin1').toString());
}

export function cursor(text: string): Cursor {
  return text as Cursor;
}

/** Returns the error of a rejected promise; fails if the promise is not rejected. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('It was not rejected.');
}
