import type { ActivityDeps, OpenConnection } from '../../../activities/index.js';
import { createServiceClient, RateBudget, type ServiceEvent } from '../../api/index.js';
import { selectConnection } from '../../config/index.js';
import { type Meter, NO_METER } from '../../core/metrics.js';
import type { Settings } from '../../core/settings.js';
import { VERSION } from '../../core/version.js';
import { openStore, type StoreLogger } from '../../lake/store/index.js';

/** The connections of a worker, opened on first use and shared by all activities. */
export interface Connections extends ActivityDeps {
  /** Closes all connections. A connection that is used later is opened again. */
  close(): Promise<void>;
}

interface ConnectionsOptions {
  readonly logger?: StoreLogger | undefined;
  /** Whether activities must save their position and stop. Default: never. */
  readonly draining?: (() => boolean) | undefined;
  /** Default: none. */
  readonly meter?: Meter | undefined;
}

export function openConnections(
  settings: Settings,
  { logger, draining = () => false, meter = NO_METER }: ConnectionsOptions = {},
): Connections {
  const open = new Map<string, OpenConnection>();
  return {
    now: Date.now,
    draining,
    meter,
    connection(name) {
      const known = open.get(name);
      if (known !== undefined) return known;
      const connection = selectConnection(settings, name);
      const { baseUrl, apiKey, errors, http, lake } = connection;
      const opened: OpenConnection = {
        settings: connection,
        store: openStore(lake, logger === undefined ? {} : { logger }),
        // One rate budget per connection and process (docs/explanation/semantics.md#rate-budget).
        client: createServiceClient({
          baseUrl,
          apiKey,
          errors,
          http,
          budget: new RateBudget({
            concurrency: http.concurrency,
            requestsPerSecond: http.requestsPerSecond,
          }),
          onEvent: recordRequests(meter, name),
          userAgent: `temporal-worktrack/${VERSION}`,
        }),
      };
      open.set(name, opened);
      return opened;
    },
    async close() {
      const closing = [...open.values()];
      open.clear();
      for (const { client, store } of closing) {
        await client.close();
        store.close();
      }
    },
  };
}

/** Records the requests of a connection as metrics. */
function recordRequests(meter: Meter, connection: string): (event: ServiceEvent) => void {
  return (event) => {
    const labels = { connection, resource: event.resource };
    if (event.kind === 'request') meter.record('requests', 1, { ...labels, outcome: event.outcome });
    else if (event.kind === 'retry') meter.record('retries', 1, labels);
    else {
      meter.record('rateLimitWaits', 1, labels);
      meter.record('rateLimitSeconds', event.ms / 1000, labels);
    }
  };
}
