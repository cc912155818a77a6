import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { type S3Access, s3ClientConfig } from '../../src/servers/index.js';

/** What goes wrong between a client and the S3 server. */
export type S3Fault =
  /** An error in the store's words; the request is not carried out. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly code: string;
      /** Default: one that no store has. */
      readonly message?: string;
      /** `x-amz-bucket-region`. */
      readonly region?: string;
      /** `Retry-After`, in seconds. */
      readonly retryAfter?: number;
    }
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
  | { readonly kind: 'ignore-conditions' }
  /** The range of a read is ignored: the answer is the whole object, with status 200. */
  | { readonly kind: 'ignore-range' }
  /** The request is carried out, and its response is changed. `null` for a header removes it. */
  | {
      readonly kind: 'rewrite';
      readonly headers?: (name: string, value: string) => string | null;
      readonly body?: (body: string, path: string) => string;
    };

export interface S3FaultRule {
  /** Default: every method. */
  readonly method?: string;
  /** Of path and query. Default: every one. */
  readonly path?: RegExp;
  /** Of a line `name: value` for each header of the request, with lower-case names. Default: every one. */
  readonly header?: RegExp;
  /** Of the body of a POST request. Default: every one. */
  readonly body?: RegExp;
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
  /**
   * Of the requests since the last call, the longest chain: each sent after the end of the one before. A line is a request with
   * the status of its answer, such as `200 PUT /bucket/key`, or `none` instead of the status.
   */
  takeLongestChain(): string[];
  close(): Promise<void>;
}

interface ProxyOptions {
  /**
   * The store's clock, milliseconds since 1970, for tests that skip time: an object bears the time when a listing first
   * shows it. Default: the server's.
   */
  readonly clock?: () => number;
  /** How long each request is under way, milliseconds. Default: 0. */
  readonly awayMs?: number;
}

/**
 * An HTTP proxy in front of an S3 server. Requests pass as they were signed, `Host` too, so that signatures hold; only
 * conditions that are dropped need a request of the proxy's own.
 */
export async function startFaultyS3(
  target: S3Access,
  { clock, awayMs = 0 }: ProxyOptions = {},
): Promise<FaultyS3> {
  const listedAt = new Map<string, string>();
  let requests: string[] = [];
  let times: { readonly line: string; readonly began: number; ended: number; status: number | null }[] = [];
  let rules: { rule: S3FaultRule; hits: number; left: number; skip: number }[] = [];
  const { hostname, port } = new URL(target.endpoint);
  const own = new S3Client(s3ClientConfig(target));

  function faultFor(incoming: IncomingMessage, body: Buffer | null): S3Fault | null {
    const isConditional = 'if-match' in incoming.headers || 'if-none-match' in incoming.headers;
    for (const state of rules) {
      const { method, path, header, conditional, signedBy, fault } = state.rule;
      if (state.left <= 0) continue;
      if (method !== undefined && method !== incoming.method) continue;
      if (path !== undefined && !path.test(incoming.url ?? '')) continue;
      if (header !== undefined && !header.test(headerLines(incoming))) continue;
      if (state.rule.body !== undefined && !(body !== null && state.rule.body.test(body.toString('utf8'))))
        continue;
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
    const line = `${incoming.method} ${incoming.url}`;
    requests.push(line);
    const time: (typeof times)[number] = { line, began: performance.now(), ended: Infinity, status: null };
    times.push(time);
    outgoing.on('close', () => {
      time.ended = performance.now();
      time.status = outgoing.writableFinished ? outgoing.statusCode : null;
    });
    setTimeout(() => {
      // Only the short bodies of POST requests are read before the fault is chosen.
      if (incoming.method !== 'POST') return answer(incoming, outgoing, null);
      buffered(incoming).then(
        (body) => answer(incoming, outgoing, body),
        () => outgoing.destroy(),
      );
    }, awayMs);
  });
  function answer(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer | null): void {
    const fault = faultFor(incoming, body);
    if (fault?.kind === 'status') return void refuse(incoming, outgoing, fault);
    if (fault?.kind === 'ignore-range')
      return void readWhole(own, incoming, outgoing).catch(() => outgoing.destroy());
    if (fault?.kind === 'ignore-conditions')
      return void putAnyway(own, incoming, outgoing).catch(() => outgoing.destroy());
    const isListing = incoming.method === 'GET' && incoming.url?.includes('list-type=2');
    const byClock: S3Fault | null =
      clock !== undefined && isListing
        ? { kind: 'rewrite', body: (text) => withTimes(text, listedAt, clock) }
        : null;
    forward(incoming, outgoing, { hostname, port, body }, fault ?? byClock);
  }
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
    takeLongestChain() {
      const taken = times.sort((a, b) => a.began - b.began);
      times = [];
      const chains: string[][] = [];
      for (const [at, { began, line, status }] of taken.entries()) {
        const before = taken.slice(0, at).flatMap(({ ended }, n) => (ended <= began ? [chains[n]!] : []));
        chains.push([...longest(before), `${status ?? 'none'} ${line}`]);
      }
      return longest(chains);
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

function longest(chains: readonly string[][]): string[] {
  return chains.reduce((one, other) => (other.length > one.length ? other : one), []);
}

/** A listing whose objects bear the time of a clock when they were first listed. */
function withTimes(listing: string, listedAt: Map<string, string>, clock: () => number): string {
  // One time for all of them: the order of a listing says nothing about when its objects were written.
  const now = new Date(clock()).toISOString();
  return listing.replaceAll(/<Contents>.*?<\/Contents>/gs, (object) => {
    const key = /<Key>(.*?)<\/Key>/s.exec(object)?.[1] ?? '';
    const time = listedAt.get(key) ?? now;
    listedAt.set(key, time);
    return object.replace(/(<LastModified>).*?(<\/LastModified>)/, `$1${time}$2`);
  });
}

function refuse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, code, message = 'Made up by the test', region, retryAfter }: Extract<S3Fault, { kind: 'status' }>,
): void {
  const respond = (): void => {
    const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
    outgoing.writeHead(status, {
      'content-type': 'application/xml',
      date: new Date().toUTCString(),
      ...(region === undefined ? {} : { 'x-amz-bucket-region': region }),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    });
    outgoing.end(incoming.method === 'HEAD' ? undefined : body);
  };
  if (incoming.readableEnded) respond();
  else incoming.resume().once('end', respond);
}

async function buffered(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function headerLines({ headers }: IncomingMessage): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n');
}

function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { hostname, port, body }: { hostname: string; port: string; body: Buffer | null },
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
    if (fault?.kind === 'rewrite') return rewrite(incoming, answer, outgoing, fault);
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
  if (body !== null) {
    if (fault?.kind === 'reset') drop();
    else upstream.end(body);
    return;
  }
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

function rewrite(
  incoming: IncomingMessage,
  answer: IncomingMessage,
  outgoing: ServerResponse,
  { headers, body }: Extract<S3Fault, { kind: 'rewrite' }>,
): void {
  const kept = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] => {
    const changed = headers === undefined ? String(value) : headers(name, String(value));
    return changed === null || (body !== undefined && name === 'content-length') ? [] : [[name, changed]];
  });
  outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
  if (body === undefined) return void answer.pipe(outgoing);
  buffered(answer).then(
    (bytes) => outgoing.end(body(bytes.toString('utf8'), incoming.url ?? '')),
    () => outgoing.destroy(),
  );
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

/** The signature covers the range, so the proxy signs a new request without it. */
async function readWhole(own: S3Client, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const [, bucket, ...key] = decodeURIComponent(new URL(incoming.url ?? '', 'http://s3').pathname).split('/');
  const { Body, ETag, LastModified } = await own.send(
    new GetObjectCommand({ Bucket: bucket, Key: key.join('/') }),
  );
  const body = Buffer.from(await Body!.transformToByteArray());
  outgoing.writeHead(200, {
    'content-length': body.length,
    ...(ETag === undefined ? {} : { etag: ETag }),
    ...(LastModified === undefined ? {} : { 'last-modified': LastModified.toUTCString() }),
  });
  outgoing.end(body);
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
