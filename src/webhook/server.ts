import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface WebhookServerOptions {
  readonly handle: RequestListener;
  /** An IPv6 host is without its brackets; port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** A request's headers must be there after this, in milliseconds. Default: 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** A whole request must be there after this, in milliseconds. Default: 20,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Further connections are dropped. Default: 1,000. */
  readonly maxConnections?: number | undefined;
}

export interface WebhookServer {
  readonly url: string;
  /** Takes no more connections, answers what is in flight, and resolves when all of it is done. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 30_000;
/** Beyond the longest that a notice waits, so that only a sender that reads no answer is cut off. */
const IDLE_MS = 60_000;
const CLOSE_MS = 15_000;

/**
 * Listens with bounds on everything that a sender can make last: headers, body, idleness, number of connections.
 *
 * @throws the system's error when the address cannot be listened on
 */
export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { handle, listen, headersTimeoutMs = 10_000, requestTimeoutMs = 20_000 } = options;
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
      inFlight.add(response);
      response.once('close', () => inFlight.delete(response));
      if (isClosing) lastOfItsConnection(response);
      handle(request, response);
    },
  );
  server.maxConnections = options.maxConnections ?? 1_000;
  server.timeout = IDLE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: listen.host, port: listen.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // Such as too many open files: those that are connected are still served.
  server.on('error', () => {});
  const { port } = server.address() as AddressInfo;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return {
    url: `http://${host}:${port}`,
    async close() {
      isClosing = true;
      inFlight.forEach(lastOfItsConnection);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const giveUp = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      // A connection that becomes idle after its last answer must not hold us up.
      const sweep = setInterval(() => server.closeIdleConnections(), 100);
      await closed;
      clearTimeout(giveUp);
      clearInterval(sweep);
    },
  };
}

/** Tells the sender to send nothing more here. */
function lastOfItsConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}
