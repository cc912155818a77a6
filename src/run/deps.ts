import type { ServiceClient } from '../api/index.js';
import type { EpochMs } from '../core/brands.js';
import type { Meter } from '../core/metrics.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { ObjectStore } from '../lake/store/index.js';

/** An open connection, shared by all activities of a worker so that they share its rate budget (docs/explanation/guarantees.md#rate-budget). */
export interface OpenConnection {
  readonly settings: ConnectionSettings;
  readonly client: ServiceClient;
  readonly store: ObjectStore;
}

/** What activities need from the worker process. */
export interface ActivityDeps {
  /** @throws ConfigurationError when the worker's configuration has no such connection */
  connection(name: string): OpenConnection;
  /** The worker and its configuration file, for messages. */
  readonly origin: string;
  now(): EpochMs;
  /** Whether this worker is shutting down. Long activities then end after the current page or row; another worker continues. */
  draining(): boolean;
  /** Records metrics. */
  readonly meter: Meter;
}
