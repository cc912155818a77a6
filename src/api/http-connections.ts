import {
  Agent,
  type AgentOptions,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import type { Millis } from '../core/brands.js';
import { proxyFor } from '../core/proxy.js';
import { systemCode } from '../core/system-error.js';

const require = createRequire(import.meta.url);

/** Headers of a response. Node's own limit of 16 KiB is less than some gateways send. */
const MAX_HEADER_BYTES = 64 * 1024;
/** An idle connection is closed after this time, ms. Many servers close it a second later, and a request could meet that. */
const IDLE_MS = 4000;

export interface ConnectionOptions {
  /** The most connections. */
  readonly connections: number;
  readonly connectTimeoutMs: Millis;
  readonly headersTimeoutMs: Millis;
  /** Time without a byte of the body. */
  readonly bodyTimeoutMs: Millis;
}

interface SentRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** What becomes of a request. Its last call is `onEnd` or `onError`. */
export interface ResponseHandler {
  /** Called when a connection is open, just before the first byte is sent. */
  onStart(): void;
  onHead(status: number, headers: IncomingHttpHeaders, reason: string): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: unknown): void;
}

type TimeoutCode = 'CONNECT_TIMEOUT' | 'HEADERS_TIMEOUT' | 'BODY_TIMEOUT';

/** A connection or a response took too long. Its code is in the place of those of Node's errors. */
function timeoutError(code: TimeoutCode, what: string, ms: Millis): Error {
  return Object.assign(new Error(`${what} within ${ms / 1000} s`), { code });
}

/**
 * Keep-alive connections to one origin, directly or through the proxy of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). The
 * proxy only tunnels (CONNECT): it sees neither the API key nor a body.
 *
 * They are Node's own: the HTTP parser of undici is WebAssembly, which V8 compiles while it runs. That takes 40 MiB and a quarter of a
 * second, as much as an export of 10,000 rows.
 */
export class HttpConnections {
  readonly #options: ConnectionOptions;
  readonly #target: { readonly protocol: string; readonly hostname: string; readonly port: string };
  readonly #agent: Agent;
  #active = 0;
  #closed: (() => void) | null = null;
  #surplus = 0;

  /** @throws ConfigurationError as `proxyFor` */
  constructor(origin: string, options: ConnectionOptions) {
    const { protocol, hostname, port } = new URL(origin);
    this.#target = { protocol, port, hostname: hostname.replace(/^\[|\]$/g, '') };
    this.#options = options;
    this.#agent = agentFor(origin, {
      keepAlive: true,
      maxSockets: options.connections,
      timeout: IDLE_MS,
    });
    this.#watchIdle();
  }

  /** How often bytes have arrived behind a response: its Content-Length was too small. */
  get surplus(): number {
    return this.#surplus;
  }

  /**
   * Sends a request, as soon as a connection is free.
   *
   * @returns a function that ends the exchange
   * @throws TypeError for headers that cannot be sent
   */
  send({ method, path, headers, body }: SentRequest, handler: ResponseHandler): (reason: Error) => void {
    const { connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs } = this.#options;
    const isTls = this.#target.protocol === 'https:';
    let timer: NodeJS.Timeout | undefined;
    let hasEnded = false;
    const endWith = (last: () => void): void => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      this.#active--;
      if (this.#active === 0) this.#closed?.();
      last();
    };
    const fail = (error: unknown): void => endWith(() => handler.onError(error));
    // It throws for headers that cannot be sent.
    const request = (isTls ? httpsRequest : httpRequest)({
      ...{ ...this.#target, agent: this.#agent, method, path, headers },
      ...{ maxHeaderSize: MAX_HEADER_BYTES, joinDuplicateHeaders: true },
    });
    this.#active++;
    const limit = (ms: Millis, code: TimeoutCode, what: string): void => {
      clearTimeout(timer);
      timer = setTimeout(() => stop(timeoutError(code, what, ms)), ms);
    };
    // Without the reason, which a socket that is just getting idle would throw.
    const stop = (reason: Error): void => {
      fail(reason);
      request.destroy();
    };
    let response: IncomingMessage | null = null;
    const start = (): void => {
      if (request.destroyed) return;
      limit(headersTimeoutMs, 'HEADERS_TIMEOUT', 'no headers arrived');
      handler.onStart();
      request.end(body);
    };
    request
      .once('socket', (socket) => {
        if (request.reusedSocket || !(isTls || socket.connecting)) start();
        else {
          limit(connectTimeoutMs, 'CONNECT_TIMEOUT', 'no connection was made');
          socket.once(isTls ? 'secureConnect' : 'connect', start);
        }
      })
      .once('response', (received) => {
        response = received;
        limit(bodyTimeoutMs, 'BODY_TIMEOUT', 'no bytes of the body arrived');
        received
          .on('data', (chunk: Buffer) => {
            timer?.refresh();
            handler.onData(chunk);
          })
          .once('end', () => endWith(() => handler.onEnd()))
          .on('error', fail)
          .once('close', () => fail(new Error('the connection was closed')));
        handler.onHead(received.statusCode!, received.headers, received.statusMessage ?? '');
      })
      .on('error', (error) => {
        // A response that is complete ends by itself.
        if (response?.complete && isParseError(error)) this.#surplus++;
        else fail(error);
      })
      .once('close', () => {
        // A response reports its own end.
        if (response === null) fail(new Error('the connection was closed'));
      });
    return stop;
  }

  /** Closes all connections, after the requests that are in progress. */
  async close(): Promise<void> {
    if (this.#active > 0) await new Promise<void>((resolve) => (this.#closed = resolve));
    this.#agent.destroy();
  }

  /** No byte may arrive while a connection is idle. */
  #watchIdle(): void {
    const agent = this.#agent;
    const { keepSocketAlive, reuseSocket } = agent;
    const onData = new WeakMap<Duplex, () => void>();
    agent.keepSocketAlive = (socket) => {
      const isKept = keepSocketAlive.call(agent, socket);
      const onSurplus = (): void => {
        this.#surplus++;
        socket.destroy();
      };
      onData.set(socket, onSurplus);
      socket.once('data', onSurplus);
      return isKept;
    };
    agent.reuseSocket = (socket, request) => {
      socket.off('data', onData.get(socket)!);
      reuseSocket.call(agent, socket, request);
    };
  }
}

/** An error of Node's HTTP parser. */
export function isParseError(error: unknown): boolean {
  return systemCode(error)?.startsWith('HPE_') === true;
}

function agentFor(origin: string, options: AgentOptions): Agent {
  const proxy = proxyFor(origin);
  if (proxy === null) return origin.startsWith('https:') ? new TlsAgent(options) : new Agent(options);
  // Loaded only where there is a proxy.
  const { HttpsProxyAgent } = require('https-proxy-agent') as typeof import('https-proxy-agent');
  return new HttpsProxyAgent(proxy.url, options) as unknown as Agent;
}
