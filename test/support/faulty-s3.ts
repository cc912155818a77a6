import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { type S3Access, s3ClientConfig } from '../../src/servers/index.js';

/** What goes wrong between a client and the S3 server. */
export type S3Fault =
  /** An error in the store's words; the request is not carried out. */
  | { readonly kind: 'status'; readonly status: number; readonly code: string }
  /** The connection is reset after this many bytes of the request body. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** The request is carried out, and the connection is reset before the response. */
  | { readonly kind: 'lose-response' }
  /** The request is carried out, and never answered. */
  | { readonly kind: 'keep-response' }
  /** The response ends after this many bytes of its body. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** The response has neither a length nor a checksum, and ends after this many bytes: with a reset, or as if complete. */
  | { readonly kind: 'cut-chunked'; readonly afterBytes: number; readonly ending: 'reset' | 'end' }
  /** The conditions of conditional writes are removed, as by a store that ignores them. */
  | { readonly kind: 'ignore-conditions' };

export interface S3FaultRule {
  /** Default: every method. */
  readonly method?: string;
  /** Of path and query. Default: every one. */
  readonly path?: RegExp;
  /** Requests with If-Match or If-None-Match only. */
  readonly conditional?: true;
  /** Access key that signed it. */
  readonly signedBy?: string;
  /** Times that it happens. Default: without end. */
  readonly remaining?: number;
  /** Matching requests that are let through first. */
  readonly after?: number;
  readonly fault: S3Fault;
}

export interface FaultyS3 {
  /** In place of the server's own URL. */
  readonly url: string;
  add(rule: S3FaultRule): { readonly hits: number };
  clear(): void;
  /** Requests since the last call, such as `PUT /bucket/key`. */
  takeRequests(): string[];
  close(): Promise<void>;
}

/**
 * An HTTP proxy in front of an S3 server. Requests pass as they were signed, `Host` too, so that signatures hold; only
 * conditions that are dropped need a request of the proxy's own.
 */
export async function startFaultyS3(target: S3Access): Promise<FaultyS3> {
  let requests: string[] = [];
  let rules: { rule: S3FaultRule; hits: number; left: number; skip: number }[] = [];
  const { hostname, port } = new URL(target.endpoint);
  const own = new S3Client(s3ClientConfig(target));

  function faultFor(incoming: IncomingMessage): S3Fault | null {
    const isConditional = 'if-match' in incoming.headers || 'if-none-match' in incoming.headers;
    for (const state of rules) {
      const { method, path, conditional, signedBy, fault } = state.rule;
      if (state.left <= 0) continue;
      if (method !== undefined && method !== incoming.method) continue;
      if (path !== undefined && !path.test(incoming.url ?? '')) continue;
      if ((conditional === true || fault.kind === 'ignore-conditions') && !isConditional) continue;
      if (signedBy !== undefined && !incoming.headers.authorization?.includes(`Credential=${signedBy}/`))
        continue;
      if (state.skip-- > 0) continue;
      state.left--;
      state.hits++;
      return fault;
    }
    return null;
  }

  const server = createServer((incoming, outgoing) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    const fault = faultFor(incoming);
    if (fault?.kind === 'status') return void refuse(incoming, outgoing, fault.status, fault.code);
    if (fault?.kind === 'ignore-conditions')
      return void putAnyway(own, incoming, outgoing).catch(() => outgoing.destroy());
    forward(incoming, outgoing, { hostname, port }, fault);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add(rule) {
      const state = {
        rule,
        hits: 0,
        left: rule.remaining ?? Number.POSITIVE_INFINITY,
        skip: rule.after ?? 0,
      };
      rules.push(state);
      return state;
    },
    clear() {
      rules = [];
    },
    takeRequests() {
      const taken = requests;
      requests = [];
      return taken;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      own.destroy();
    },
  };
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number, code: string): void {
  incoming.resume();
  incoming.once('end', () => {
    const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>Made up by the test</Message></Error>`;
    outgoing.writeHead(status, { 'content-type': 'application/xml', date: new Date().toUTCString() });
    outgoing.end(incoming.method === 'HEAD' ? undefined : body);
  });
}

function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { hostname, port }: { hostname: string; port: string },
  fault: S3Fault | null,
): void {
  const upstream = request({
    hostname,
    port,
    method: incoming.method,
    path: incoming.url,
    headers: incoming.rawHeaders,
    setHost: false,
    agent: false,
  });
  const drop = (): void => {
    upstream.destroy();
    incoming.socket.resetAndDestroy();
  };
  upstream.on('error', () => outgoing.destroy());
  upstream.on('response', (answer) => {
    if (fault?.kind === 'keep-response') return void answer.resume();
    if (fault?.kind === 'lose-response') return void answer.resume().once('end', drop);
    if (fault?.kind === 'cut-chunked') return cutChunked(answer, outgoing, fault, drop);
    outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      const room = fault?.kind === 'cut' ? fault.afterBytes - bytes : Number.POSITIVE_INFINITY;
      bytes += chunk.length;
      if (chunk.length < room) outgoing.write(chunk);
      else outgoing.write(chunk.subarray(0, Math.max(0, room)), drop);
    });
    answer.on('end', () => outgoing.end());
    answer.on('error', () => outgoing.destroy());
  });
  // What is asked for with `Expect: 100-continue` has been answered by the proxy already.
  let bytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    upstream.write(chunk);
    if (fault?.kind === 'reset' && bytes >= fault.afterBytes) drop();
  });
  incoming.on('end', () => {
    if (fault?.kind === 'reset') drop();
    else upstream.end();
  });
  incoming.on('error', () => upstream.destroy());
}

function cutChunked(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  { afterBytes, ending }: Extract<S3Fault, { kind: 'cut-chunked' }>,
  drop: () => void,
): void {
  const headers = Object.entries(answer.headers).filter(
    ([name]) => !/^(content-length|x-amz-checksum-)/.test(name),
  );
  outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
  let body = Buffer.alloc(0);
  answer.on('data', (chunk: Buffer) => {
    body = Buffer.concat([body, chunk]);
  });
  answer.on('end', () => {
    const part = body.subarray(0, afterBytes);
    if (ending === 'end') outgoing.end(part);
    else outgoing.write(part, drop);
  });
}

/** The signature covers the conditions, so the proxy signs a new request without them. */
async function putAnyway(own: S3Client, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) body.push(chunk);
  const [, bucket, ...key] = decodeURIComponent(new URL(incoming.url ?? '', 'http://s3').pathname).split('/');
  const { ETag } = await own.send(
    new PutObjectCommand({ Bucket: bucket, Key: key.join('/'), Body: Buffer.concat(body) }),
  );
  outgoing.writeHead(200, ETag === undefined ? {} : { etag: ETag }).end();
}
