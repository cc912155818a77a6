import { dispatcherFor } from './dispatcher.js';
import { HttpServiceClient } from './http-service-client.js';
import type { ServiceClient, ServiceClientOptions } from './service-client.js';
import { apiRoot } from './url.js';

/**
 * Creates a client for one connection, with its own pool of keep-alive connections. It sends no request and reads no
 * key yet. Throws ConfigurationError for an invalid base URL (see `apiRoot`) or proxy.
 */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { http } = options;
  const root = apiRoot(options.baseUrl, http.allowPlainHttp ? 'allowed' : 'loopback-only');
  const dispatcher = dispatcherFor(root, {
    connections: http.concurrency,
    connect: { timeout: http.connectTimeoutMs },
    headersTimeout: http.headersTimeoutMs,
    bodyTimeout: http.bodyTimeoutMs,
  });
  return new HttpServiceClient(root, dispatcher, options);
}
