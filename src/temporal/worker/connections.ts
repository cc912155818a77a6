import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { ActivityDeps, OpenConnection } from '../../../activities/index.js';
import { selectConnection } from '../../config/index.js';
import { ConfigurationError } from '../../core/configuration-error.js';
import { type Meter, NO_METER } from '../../core/metrics.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import type { StoreLogger } from '../../lake/store/index.js';
import { closeConnection, type IdleConnection, openConnection } from './open-connection.js';
import { Pins } from './pins.js';

/** The connections of a worker, shared by all activities. They are opened on use, and closed when they are idle. */
export interface Connections extends ActivityDeps {
  /** The current configuration. */
  readonly settings: Settings;
  /** Runs an activity with the connections of its run, which stay the same until the run ends. */
  during<T>(activityType: string, input: unknown, work: () => Promise<T>): Promise<T>;
  /** Uses another configuration from now on. Runs in progress keep theirs. */
  replace(settings: Settings): void;
  /** Whether a connection of the current configuration has clients and sockets now. */
  isOpen(name: string): boolean;
  /** Closes all connections. A connection that is used later is opened again. */
  close(): Promise<void>;
}

interface ConnectionsOptions {
  readonly logger?: StoreLogger | undefined;
  /** Whether activities must save their position and stop. Default: never. */
  readonly draining?: (() => boolean) | undefined;
  /** Default: none. */
  readonly meter?: Meter | undefined;
  /** Milliseconds after which an unused connection closes its sockets. Default: 20 s. */
  readonly idleMs?: number | undefined;
}

export function openConnections(
  first: Settings,
  { logger, draining = () => false, meter = NO_METER, idleMs }: ConnectionsOptions = {},
): Connections {
  let settings = first;
  const open = new Map<string, IdleConnection>();
  /** Connections of earlier configurations, until the last run that uses them has ended. */
  const replaced = new Set<OpenConnection>();
  const pins = new Pins(Date.now);
  const closeUnused = async (): Promise<void> => {
    if (replaced.size === 0) return;
    const used = pins.used();
    for (const connection of replaced) {
      if (used.has(connection)) continue;
      replaced.delete(connection);
      await closeConnection(connection);
    }
  };
  const current = (name: string): OpenConnection => {
    const known = open.get(name);
    if (known !== undefined) return known;
    const opened = openConnection(configured(settings, name), { logger, meter, idleMs });
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
    isOpen: (name) => open.get(name)?.isOpen ?? false,
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
