import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Millis } from '../core/brands.js';
import { MINUTE_MS } from '../core/duration.js';

export interface WebhookServerOptions {
  readonly handle: RequestListener;
  /** An IPv6 host has no brackets; port 0 selects a free port. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Time limit for a request's headers. Default: 10,000. */
  readonly headersTimeoutMs?: Millis | undefined;
  /** Time limit for a whole request. Default: 20,000. */
  readonly requestTimeoutMs?: Millis | undefined;
  /** Most connections; further ones are dropped. Default: 1,000. */
  readonly maxConnections?: number | undefined;
  /**
   * Most unanswered requests. Above it, a connection is closed if a request on it must wait for earlier responses
   * (pipelining). Default: 8,000.
   */
  readonly maxRequests?: number | undefined;
}

export interface WebhookServer {
  readonly url: string;
  /** Accepts no more connections, and resolves when all requests in flight are answered. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 30_000;
/** Longer than any notice waits, so that only a sender that does not read the response is disconnected. */
const IDLE_MS = MINUTE_MS;
const CLOSE_MS = 15_000;

/**
 * Starts a server that limits everything that a sender controls: headers, body, idle time, number of connections.
 *
 * @throws the system's error if it cannot listen on the address
 * @example
 * const send = createNoticeSender(temporal);
 * const ready = () => pingTemporal(temporal);
 * const { handle } = createWebhookHandler({ connections: settings.connections, send, ready, log: console });
 * const server = await startWebhookServer({ handle, listen: { host: '127.0.0.1', port: 8080 } });
 */
export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { handle, listen, headersTimeoutMs = 10_000, requestTimeoutMs = 20_000 } = options;
  const maxRequests = options.maxRequests ?? 8_000;
  const inFlight = new Set<ServerResponse>();
  let isClosing = false;
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs / 2),
    },
    (request, response) => {
      // A response without a socket waits for earlier responses of its connection.
      if (inFlight.size >= maxRequests && response.socket === null) {
        request.socket.destroy();
        return;
      }
      inFlight.add(response);
      response.once('close', () => inFlight.delete(response));
      if (isClosing) closeAfterResponse(response);
      handle(request, response);
    },
  );
  server.maxConnections = options.maxConnections ?? 1_000;
  server.timeout = IDLE_MS;
  await once(server.listen(listen), 'listening');
  // For example too many open files. Existing connections are still served.
  server.on('error', () => {});
  const { port } = server.address() as AddressInfo;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return {
    url: `http://${host}:${port}`,
    async close() {
      isClosing = true;
      inFlight.forEach(closeAfterResponse);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const giveUp = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      // A connection that becomes idle after its last response must not delay closing.
      const sweep = setInterval(() => server.closeIdleConnections(), 100);
      await closed;
      clearTimeout(giveUp);
      clearInterval(sweep);
    },
  };
}

/** Tells the sender to send no more requests on this connection. */
function closeAfterResponse(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}
