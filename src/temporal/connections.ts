import type { ActivityDeps, OpenConnection } from '../../activities/index.js';
import { createServiceClient, RateBudget } from '../api/index.js';
import { selectConnection } from '../config/index.js';
import { type Meter, NO_METER } from '../core/metrics.js';
import type { Settings } from '../core/settings.js';
import { openStore, type StoreLogger } from '../lake/store/index.js';
import { recordRequests } from './request-metrics.js';
import { VERSION } from './version.js';

/** The connections of a worker, opened when first used and shared by all its activities. */
export interface Connections extends ActivityDeps {
  /** What is used afterwards is opened anew. */
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly logger?: StoreLogger | undefined;
  /** Whether activities are to hand over. Default: never. */
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
        // One rate budget for everything that this process does on the connection (DESIGN 3.13).
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
