import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The proxy's own answer to a request; `null` forwards the request. */
export type Spoil = number | 'reset' | 'hang' | 'html' | null;

export interface EchoingService {
  readonly url: string;
  /** Requests that were not passed on. */
  readonly spoilt: () => number;
  spoil(rule: (method: string, path: string) => Spoil): void;
  close(): Promise<void>;
}

/**
 * A proxy in front of a service. It answers some requests itself, with the request's path and body in the message, raw
 * and decoded, as a careless service does.
 *
 * @param behind the address of the service, which may be set later
 */
export async function startEchoingService(behind: () => string): Promise<EchoingService> {
  let rule: (method: string, path: string) => Spoil = () => null;
  let spoilt = 0;
  const server = createServer((request, response) => {
    // A client that waits no longer closes its connection.
    answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const { method = 'GET', url = '/' } = request;
    const spoil = rule(method, url);
    if (spoil === null) return passOn(`${behind()}${url}`, request, body, response);
    spoilt++;
    if (spoil === 'hang') return;
    if (spoil === 'reset') return void request.socket.resetAndDestroy();
    const message = `cannot do ${decodeURIComponent(url)} (${url}) with ${body}`;
    const type = spoil === 'html' ? 'text/html' : 'application/json';
    response.writeHead(spoil === 'html' ? 200 : spoil, { 'content-type': type });
    response.end(spoil === 'html' ? `<html>${message}</html>` : JSON.stringify({ message }));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoilt: () => spoilt,
    spoil(next) {
      rule = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function passOn(url: string, request: IncomingMessage, body: string, response: ServerResponse) {
  const headers = Object.entries(request.headers).filter(
    ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
  ) as [string, string][];
  const sent = body === '' ? {} : { body };
  const answer = await fetch(url, { method: request.method ?? 'GET', headers, ...sent });
  const bytes = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(bytes);
}
