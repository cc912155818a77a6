import { ConfigurationError } from '../core/errors.js';
import { grpcProxyFor, type ProxyServer, proxyFor, storeAddress } from '../core/proxy.js';
import type { ConnectionSettings } from '../core/settings.js';
import { about, type Finding, ok, problem } from './finding.js';

/** States the proxy that leads to the service and the store of a connection. Nothing without a proxy. */
export function proxyFindings({ baseUrl, lake }: ConnectionSettings): Finding[] {
  const store = lake.url.startsWith('s3:') ? [found('the store', () => proxyFor(storeAddress(lake)))] : [];
  return [found('the service', () => proxyFor(baseUrl)), ...store].flat();
}

/** The same for Temporal. @param address host and port */
export function temporalProxyFindings(address: string): Finding[] {
  return found('Temporal', () => grpcProxyFor(address));
}

function found(what: string, read: () => ProxyServer | null): Finding[] {
  try {
    const proxy = read();
    if (proxy === null) return [];
    const message = `${what} is reached through the proxy ${proxy.host} (${proxy.variable})`;
    return [about(what, ok('proxy', message))];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [about(what, problem('proxy', 'configuration', `${what}: ${error.message}`, error.remedy ?? ''))];
  }
}
