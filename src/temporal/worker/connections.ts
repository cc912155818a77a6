import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { ActivityDeps, OpenConnection } from '../../../activities/index.js';
import { createServiceClient, RateBudget, type ServiceClient, type ServiceEvent } from '../../api/index.js';
import type { EpochMs } from '../../core/brands.js';
import { activityFacts } from '../../core/contract/activity-table.js';
import type { RunEnded } from '../../core/contract/index.js';
import { DAY_MS } from '../../core/duration.js';
import { ConfigurationError } from '../../core/errors.js';
import { type Meter, NO_METER } from '../../core/metrics.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import { VERSION } from '../../core/version.js';
import { type ObjectStore, openStore, type StoreLogger } from '../../lake/store/index.js';
import { noteUse } from '../../run/activity-context.js';

/** The connections of a worker, shared by all activities. They are opened on use, and closed when they are idle. */
export interface Connections extends ActivityDeps {
  /** The current configuration. */
  readonly settings: Settings;
  /** Runs an activity, or other work, with the connections of its run, which stay the same until the run ends. */
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
  /** An unused connection closes its sockets after this many milliseconds. Default: `IDLE_MS`. */
  readonly idleMs?: number | undefined;
}

/** The connections that a run, a batch or a single activity has used. */
interface Used {
  readonly connections: Map<string, IdleConnection>;
  at: EpochMs;
}

/** The file of a rejected API key is read again for so long, because a new key may be on its way. */
const AWAIT_KEY_MS = 30_000;
/** A run that ends without its last step is forgotten when it has been idle for this long, or twice `giveUpAfter`. */
const KEPT_MS = DAY_MS;

export function openConnections(
  first: Settings,
  { logger, draining = () => false, meter = NO_METER, idleMs = IDLE_MS }: ConnectionsOptions = {},
): Connections {
  let settings = first;
  const open = new Map<string, IdleConnection>();
  const running = new AsyncLocalStorage<{ readonly used: Used; readonly held: Set<IdleConnection> }>();
  // A connection of an earlier configuration closes its sockets when it is idle, like any other.
  const ofRuns = new Map<string, Used>();
  let looked = 0;
  const forgetIdle = (): void => {
    // There can be thousands, so not with each activity.
    if (Date.now() - looked < KEPT_MS / 24) return;
    looked = Date.now();
    for (const [id, { connections, at }] of ofRuns) {
      const waits = [...connections.values()].map((one) => 2 * one.settings.retries.giveUpAfterMs);
      if (Date.now() - at > Math.max(KEPT_MS, ...waits)) ofRuns.delete(id);
    }
  };
  const current = (name: string): IdleConnection => {
    const known = open.get(name) ?? new IdleConnection(configured(settings, name), { logger, meter, idleMs });
    open.set(name, known);
    return known;
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
    connection(name) {
      const { used, held } = running.getStore() ?? {};
      const connection = used?.connections.get(name) ?? current(name);
      used?.connections.set(name, connection);
      if (held?.has(connection) === false) connection.hold();
      held?.add(connection);
      return connection;
    },
    async during(activityType, input, work) {
      forgetIdle();
      const id = runOf(input);
      const step = activityFacts(activityType)?.step;
      const known = id === null || step === 'first' ? undefined : ofRuns.get(id);
      const used = known ?? { connections: new Map(), at: 0 };
      used.at = Date.now();
      /** They stay open until the activity ends. */
      const held = new Set<IdleConnection>();
      if (id !== null && (step === 'first' || step === 'middle')) ofRuns.set(id, used);
      try {
        const result = await running.run({ used, held }, work);
        if (id !== null && (step === 'last' || isOver(result))) ofRuns.delete(id);
        return result;
      } finally {
        used.at = Date.now();
        for (const connection of held) connection.release();
      }
    },
    replace(next) {
      settings = next;
      for (const [name, connection] of open) {
        const configured = next.connections.find((one) => one.name === name);
        // An unchanged connection keeps its rate budget.
        if (!isDeepStrictEqual(configured, connection.settings)) open.delete(name);
      }
    },
    isOpen: (name) => open.get(name)?.isOpen ?? false,
    async close() {
      const used = [...ofRuns.values()].flatMap(({ connections }) => [...connections.values()]);
      const closing = new Set([...open.values(), ...used]);
      open.clear();
      ofRuns.clear();
      for (const connection of closing) await connection.close();
      // On Node 20, one that stays makes every promise of the process slower.
      running.disable();
    },
  };
}

/** The run or batch that the input of an activity names. */
function runOf(input: unknown): string | null {
  const { connection, resource, runId, batchId } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const run = runId ?? batchId;
  return typeof connection === 'string' && typeof run === 'string'
    ? JSON.stringify([connection, resource ?? null, run])
    : null;
}

/** Names a worker and its file in messages, because the user's command may use another file. */
function originOf({ source }: Settings): string {
  return `${source} of worker ${process.pid}@${hostname()}`;
}

function configured(settings: Settings, name: string): ConnectionSettings {
  const found = settings.connections.find((one) => one.name === name);
  if (found !== undefined) return found;
  const known = settings.connections.map((one) => one.name).join(', ');
  throw new ConfigurationError(
    `${originOf(settings)} has no connection ${JSON.stringify(name)}; it has ${known}.`,
    {
      path: 'connections',
      remedy: `Add it to the worker's file, and reload the worker (kill -HUP ${process.pid}) or restart it.`,
    },
  );
}

/** Whether an activity has ended its run. */
function isOver(result: unknown): boolean {
  const kind = (result as Partial<RunEnded> | null | undefined)?.kind;
  return kind === 'published' || kind === 'previewed';
}

/** How long an unused connection stays open, ms. Within one export a connection is used more often than that. */
export const IDLE_MS = 20_000;

interface IdleOptions extends Pick<ConnectionsOptions, 'logger'> {
  readonly meter: Meter;
  readonly idleMs: number;
}

/**
 * A connection whose client and store are created on first use, and closed with their sockets and caches when no activity has
 * used them for a time. A worker has a thousand connections in its configuration, and uses a few of them at a time: of the
 * others, only the settings and the rate budget stay in memory.
 */
class IdleConnection implements OpenConnection {
  /** One rate budget per connection and process (docs/explanation/guarantees.md#rate-budget). */
  readonly #budget: RateBudget;
  #client: ServiceClient | null = null;
  #store: ObjectStore | null = null;
  #users = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    readonly settings: ConnectionSettings,
    private readonly options: IdleOptions,
  ) {
    this.#budget = new RateBudget(settings.http);
  }

  get client(): ServiceClient {
    const { name, baseUrl, apiKey, errors, http, json, retries } = this.settings;
    this.#client ??= createServiceClient({
      ...{ baseUrl, apiKey, errors, http, json, budget: this.#budget },
      onEvent: recordRequests(this.options.meter, name),
      userAgent: `temporal-worktrack/${VERSION}`,
      giveUpAfterMs: retries.giveUpAfterMs,
      awaitKeyMs: AWAIT_KEY_MS,
    });
    return this.#client;
  }

  get store(): ObjectStore {
    const { logger } = this.options;
    this.#store ??= openStore(this.settings.lake, logger === undefined ? {} : { logger });
    return this.#store;
  }

  /** Whether it has clients and sockets now. */
  get isOpen(): boolean {
    return this.#client !== null || this.#store !== null;
  }

  /** Keeps it open until `release`. */
  hold(): void {
    this.#users++;
    this.#stopTimer();
  }

  release(): void {
    this.#users--;
    if (this.#users > 0 || !this.isOpen) return;
    const timer = setTimeout(() => void this.close().catch(() => {}), this.options.idleMs);
    this.#timer = timer.unref();
  }

  /** Closes it now. It is opened again when it is used again. */
  async close(): Promise<void> {
    this.#stopTimer();
    const [client, store] = [this.#client, this.#store];
    this.#client = null;
    this.#store = null;
    store?.close();
    await client?.close();
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** Records the requests of a connection as metrics. */
function recordRequests(meter: Meter, connection: string): (event: ServiceEvent) => void {
  return (event) => {
    const labels = { connection, resource: event.resource };
    if (event.kind === 'request') {
      noteUse('requests', 1);
      meter.record('requests', 1, { ...labels, outcome: event.outcome });
    } else if (event.kind === 'rate-limit-wait') {
      meter.record('rateLimitWaits', 1, labels);
      meter.record('rateLimitSeconds', event.ms / 1000, labels);
    }
  };
}
