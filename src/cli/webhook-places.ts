import { isLoopbackAddress, readListen, selectConnection } from '../config/index.js';
import { ConfigurationError } from '../core/configuration-error.js';
import type { ConnectionSettings, Settings, WebhookSettings } from '../core/settings.js';
import { UsageError } from './usage-error.js';

/** Where to listen. */
export type Address = WebhookSettings['listen'];
/** A connection that takes notices. */
export type Served = ConnectionSettings & { readonly webhook: WebhookSettings };

/** Connections that share an address. */
export interface Place {
  readonly listen: Address;
  readonly connections: readonly Served[];
}

/** The connections that one receiver serves. @throws ConfigurationError when there is none */
export function servedBy(settings: Settings, name: string | undefined): readonly Served[] {
  const chosen = name === undefined ? settings.connections : [selectConnection(settings, name)];
  const served = chosen.filter((connection): connection is Served => connection.webhook !== null);
  if (served.length > 0) return served;
  throw new ConfigurationError(
    name === undefined
      ? `${settings.source}: no connection has a webhook section`
      : `${settings.source}: connection ${name} has no webhook section`,
    { remedy: 'Add one; `webhook: {}` takes notices signed with HMAC-SHA256 on 127.0.0.1:8080.' },
  );
}

/**
 * The addresses to listen on, each with its connections.
 *
 * @param text one address for all of them
 * @throws UsageError for one that cannot be read, or that is open to others while notices are not signed
 */
export function placesOf(served: readonly Served[], text: string | undefined): readonly Place[] {
  if (text === undefined) {
    const places = new Map<string, { listen: Address; connections: Served[] }>();
    for (const connection of served) {
      const { listen } = connection.webhook;
      const place = places.get(`${listen.host} ${listen.port}`) ?? { listen, connections: [] };
      place.connections.push(connection);
      places.set(`${listen.host} ${listen.port}`, place);
    }
    return [...places.values()];
  }
  const listen = addressOf(text);
  const unsigned = served.find(({ webhook }) => webhook.signature === null);
  if (unsigned !== undefined && !isLoopbackAddress(listen.host)) {
    throw new UsageError(
      `--listen ${text} can be reached by others, and notices of ${unsigned.name} are not signed; listen on 127.0.0.1, or configure a signature`,
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
