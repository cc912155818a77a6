import { isLoopbackAddress, readListen } from '../../config/index.js';
import { ConfigurationError } from '../../core/configuration-error.js';
import type { ConnectionSettings, Settings, WebhookSettings } from '../../core/settings.js';
import { selectConnections } from '../shared/settings.js';
import { UsageError } from '../shared/usage-error.js';

/** A listen address. */
export type Address = WebhookSettings['listen'];
/** A connection with a webhook section. */
export type WebhookConnection = ConnectionSettings & { readonly webhook: WebhookSettings };

/** An address and the connections that share it. */
export interface Listener {
  readonly listen: Address;
  readonly connections: readonly WebhookConnection[];
}

/** The connections that one receiver serves. @throws ConfigurationError if there is none */
export function webhookConnections(
  settings: Settings,
  names: readonly string[] = [],
): readonly WebhookConnection[] {
  const chosen = selectConnections(settings, { connections: names });
  const served = chosen.filter((connection): connection is WebhookConnection => connection.webhook !== null);
  if (served.length > 0) return served;
  throw new ConfigurationError(
    names.length === 0
      ? `${settings.source}: no connection has a webhook section`
      : `${settings.source}: connection ${names.join(', ')} has no webhook section`,
    { remedy: 'Add one. `webhook: {}` accepts notices signed with HMAC-SHA256 on 127.0.0.1:8080.' },
  );
}

/**
 * The addresses to listen on, each with its connections.
 *
 * @param text one address for all connections
 * @throws UsageError if the address is invalid, or if other machines can reach it and notices are not signed
 */
export function listenersFor(
  served: readonly WebhookConnection[],
  text: string | undefined,
): readonly Listener[] {
  if (text === undefined) {
    const listeners = new Map<string, { listen: Address; connections: WebhookConnection[] }>();
    for (const connection of served) {
      const { listen } = connection.webhook;
      const listener = listeners.get(`${listen.host} ${listen.port}`) ?? { listen, connections: [] };
      listener.connections.push(connection);
      listeners.set(`${listen.host} ${listen.port}`, listener);
    }
    return [...listeners.values()];
  }
  const listen = addressOf(text);
  const unsigned = served.find(({ webhook }) => webhook.signature === null);
  if (unsigned !== undefined && !isLoopbackAddress(listen.host)) {
    throw new UsageError(
      `--listen ${text} is reachable from other machines, but notices of ${unsigned.name} are not signed; listen on 127.0.0.1, or configure a signature`,
    );
  }
  return [{ listen, connections: served }];
}

function addressOf(text: string): Address {
  try {
    return readListen(text);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--listen: ${error.message}`);
    throw error;
  }
}
