import { Agent } from 'undici';
import { HttpServiceClient } from './http-service-client.js';
import type { ServiceClient, ServiceClientOptions } from './service-client.js';
import { apiRoot } from './url.js';

/**
 * Makes a client for one connection, with its own pool of kept-alive connections. Nothing is sent and no key is read yet.
 * Throws ConfigurationError for a base URL that must not be used (see `apiRoot`).
 */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { http } = options;
  const root = apiRoot(options.baseUrl, http.allowPlainHttp ? 'allowed' : 'loopback-only');
  const agent = new Agent({
    connections: http.concurrency,
    connect: { timeout: http.connectTimeoutMs },
    headersTimeout: http.headersTimeoutMs,
    bodyTimeout: http.bodyTimeoutMs,
  });
  return new HttpServiceClient(root, agent, options);
}
