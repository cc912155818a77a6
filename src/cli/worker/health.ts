import type { RequestListener } from 'node:http';
import { readListen } from '../../config/index.js';
import { ConfigurationError } from '../../core/errors.js';
import { systemCause } from '../../core/system-error.js';
import type { WorkerState } from '../../temporal/worker/worker.js';
import { startWebhookServer, type WebhookServer } from '../../webhook/index.js';
import { parsed } from '../shared/command-options.js';

/** Parses `--health`: a port on loopback, or a host and a port. @throws UsageError */
export function readHealth(text: string): { host: string; port: number } {
  return parsed('--health', text, (address) =>
    readListen(/^\d+$/.test(address) ? `127.0.0.1:${address}` : address),
  );
}

/**
 * Answers `GET /healthz` with 200 while the process runs, and `GET /readyz` with 200 while the worker polls for tasks and
 * Temporal accepts it, otherwise with 503. The body contains the worker's state.
 *
 * @throws ConfigurationError if it cannot listen on the address
 */
export async function startHealthServer(
  listen: { host: string; port: number },
  state: () => WorkerState,
): Promise<WebhookServer> {
  try {
    return await startWebhookServer({ listen, handle: answerWith(state), maxConnections: 64 });
  } catch (cause) {
    const why = systemCause(cause);
    throw new ConfigurationError(`cannot listen on ${listen.host}, port ${listen.port}: ${why}`, {
      remedy: 'Choose another address with --health.',
      cause,
    });
  }
}

function answerWith(state: () => WorkerState): RequestListener {
  return ({ method, url = '/' }, response) => {
    const path = url.split('?')[0];
    const known = path === '/healthz' || path === '/readyz';
    const now = state();
    const status = !known
      ? 404
      : method !== 'GET' && method !== 'HEAD'
        ? 405
        : path === '/readyz' && now !== 'polling'
          ? 503
          : 200;
    const body = status === 404 ? { message: 'GET /healthz or /readyz' } : { state: now };
    response.writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`);
  };
}
