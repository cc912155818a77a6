import type { OpenConnection } from '../../../activities/index.js';
import { createServiceClient, RateBudget, type ServiceClient, type ServiceEvent } from '../../api/index.js';
import type { Meter } from '../../core/metrics.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { VERSION } from '../../core/version.js';
import { type ObjectStore, openStore, type StoreLogger } from '../../lake/store/index.js';
import { IdleResource } from './idle-resource.js';
import { idleStore } from './idle-store.js';

interface OpenOptions {
  readonly logger: StoreLogger | undefined;
  readonly meter: Meter;
  /** The sockets are closed after this many milliseconds without use. Default: `IDLE_MS`. */
  readonly idleMs: number | undefined;
}

/** A connection that opens its sockets on use and closes them when it is idle. */
export interface IdleConnection extends OpenConnection {
  /** Whether it has clients and sockets now. */
  readonly isOpen: boolean;
}

/** Of an idle connection, only its settings and its rate budget stay in memory. */
export function openConnection(
  settings: ConnectionSettings,
  { logger, meter, idleMs }: OpenOptions,
): IdleConnection {
  const { name, baseUrl, apiKey, errors, http, json, lake, retries } = settings;
  // One rate budget per connection and process (docs/explanation/guarantees.md#rate-budget).
  const { concurrency, requestsPerSecond } = http;
  const budget = new RateBudget({ concurrency, requestsPerSecond });
  const onEvent = recordRequests(meter, name);
  const userAgent = `temporal-worktrack/${VERSION}`;
  const store = new IdleResource<ObjectStore>({
    open: () => openStore(lake, logger === undefined ? {} : { logger }),
    close: (opened) => opened.close(),
    idleMs,
  });
  const client = new IdleResource<ServiceClient>({
    open: () =>
      createServiceClient({
        ...{ baseUrl, apiKey, errors, http, json, budget, onEvent, userAgent },
        giveUpAfterMs: retries.giveUpAfterMs,
      }),
    close: (opened) => opened.close(),
    idleMs,
  });
  return {
    settings,
    store: idleStore(store),
    client: idleClient(client),
    get isOpen() {
      return store.isOpen || client.isOpen;
    },
  };
}

export async function closeConnection({ client, store }: OpenConnection): Promise<void> {
  await client.close();
  store.close();
}

/** A client that is open while it is used. */
function idleClient(client: IdleResource<ServiceClient>): ServiceClient {
  return {
    listPage: (...args) => client.use((opened) => opened.listPage(...args)),
    fetchById: (...args) => client.use((opened) => opened.fetchById(...args)),
    send: (...args) => client.use((opened) => opened.send(...args)),
    close: () => client.close(),
  };
}

/** Records the requests of a connection as metrics. */
function recordRequests(meter: Meter, connection: string): (event: ServiceEvent) => void {
  return (event) => {
    const labels = { connection, resource: event.resource };
    if (event.kind === 'request') meter.record('requests', 1, { ...labels, outcome: event.outcome });
    else if (event.kind === 'rate-limit-wait') {
      meter.record('rateLimitWaits', 1, labels);
      meter.record('rateLimitSeconds', event.ms / 1000, labels);
    }
  };
}
