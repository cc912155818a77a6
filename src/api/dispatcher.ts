import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { proxyFor } from '../core/proxy.js';

/**
 * Connections to one address, directly or through the proxy of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). The
 * proxy only tunnels (CONNECT): it sees neither the API key nor a body.
 *
 * This is `proxyFor` and not undici's `EnvHttpProxyAgent`, so that the service, the store and Temporal follow one rule.
 *
 * @throws ConfigurationError as `proxyFor`
 */
export function dispatcherFor(address: string, options: Agent.Options): Dispatcher {
  const proxy = proxyFor(address);
  if (proxy === null) return new Agent(options);
  // `connect` would also be used for the connection to the proxy itself.
  const { connect, ...more } = options;
  const tls = typeof connect === 'object' ? connect : {};
  return new ProxyAgent({ ...more, uri: proxy.url, proxyTunnel: true, requestTls: tls, proxyTls: tls });
}
