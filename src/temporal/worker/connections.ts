import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { ActivityDeps, OpenConnection } from '../../../activities/index.js';
import { createServiceClient, RateBudget, type ServiceEvent } from '../../api/index.js';
import { selectConnection } from '../../config/index.js';
import { ConfigurationError } from '../../core/configuration-error.js';
import { type Meter, NO_METER } from '../../core/metrics.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import { VERSION } from '../../core/version.js';
import { openStore, type StoreLogger } from '../../lake/store/index.js';
import { Pins } from './pins.js';

/** The connections of a worker, opened on first use and shared by all activities. */
export interface Connections extends ActivityDeps {
  /** The current configuration. */
  readonly settings: Settings;
  /** Runs an activity with the connections of its run, which stay the same until the run ends. */
  during<T>(activityType: string, input: unknown, work: () => Promise<T>): Promise<T>;
  /** Uses another configuration from now on. Runs in progress keep theirs. */
  replace(settings: Settings): void;
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
  first: Settings,
  { logger, draining = () => false, meter = NO_METER }: ConnectionsOptions = {},
): Connections {
  let settings = first;
  const open = new Map<string, OpenConnection>();
  /** Connections of earlier configurations, until the last run that uses them has ended. */
  const replaced = new Set<OpenConnection>();
  const pins = new Pins(Date.now);
  const closeUnused = async (): Promise<void> => {
    for (const connection of replaced) {
      if (pins.isUsed(connection)) continue;
      replaced.delete(connection);
      await closeConnection(connection);
    }
  };
  const current = (name: string): OpenConnection => {
    const known = open.get(name);
    if (known !== undefined) return known;
    const opened = openConnection(configured(settings, name), { logger, meter });
    open.set(name, opened);
    return opened;
  };
  return {
    now: Date.now,
    draining,
    meter,
    get settings() {
      return settings;
    },
    get origin() {
      return originOf(settings);
    },
    connection: (name) => pins.connection(name, () => current(name)),
    async during(activityType, input, work) {
      try {
        return await pins.during(activityType, input, work);
      } finally {
        await closeUnused();
      }
    },
    replace(next) {
      settings = next;
      for (const [name, connection] of open) {
        const configured = next.connections.find((one) => one.name === name);
        // An unchanged connection keeps its rate budget.
        if (isDeepStrictEqual(configured, connection.settings)) continue;
        open.delete(name);
        replaced.add(connection);
      }
      void closeUnused();
    },
    async close() {
      const closing = [...open.values(), ...replaced];
      open.clear();
      replaced.clear();
      for (const connection of closing) await closeConnection(connection);
    },
  };
}

/** Names a worker and its file in messages, because the user's command may use another file. */
function originOf({ source }: Settings): string {
  return `${source} of worker ${process.pid}@${hostname()}`;
}

function configured(settings: Settings, name: string): ConnectionSettings {
  if (settings.connections.some((one) => one.name === name)) return selectConnection(settings, name);
  const known = settings.connections.map((one) => one.name).join(', ');
  throw new ConfigurationError(
    `${originOf(settings)} has no connection ${JSON.stringify(name)}; it has ${known}`,
    {
      path: 'connections',
      remedy: `Add it to the worker's file, and reload the worker (kill -HUP ${process.pid}) or restart it.`,
    },
  );
}

function openConnection(
  settings: ConnectionSettings,
  { logger, meter }: { readonly logger: StoreLogger | undefined; readonly meter: Meter },
): OpenConnection {
  const { name, baseUrl, apiKey, errors, http, lake } = settings;
  return {
    settings,
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
}

async function closeConnection({ client, store }: OpenConnection): Promise<void> {
  await client.close();
  store.close();
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
