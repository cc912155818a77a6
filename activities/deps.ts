import type { ServiceClient } from '../src/api/index.js';
import type { Meter } from '../src/core/metrics.js';
import type { ConnectionSettings } from '../src/core/settings.js';
import type { ObjectStore } from '../src/lake/store/index.js';

/** One connection as a worker has it open: shared by all activities of that worker (DESIGN 3.13). */
export interface OpenConnection {
  readonly settings: ConnectionSettings;
  readonly client: ServiceClient;
  readonly store: ObjectStore;
}

/** What activities need of the process around them. */
export interface ActivityDeps {
  /** @throws ConfigurationError when the worker's configuration has no such connection */
  connection(name: string): OpenConnection;
  /** Milliseconds since 1970. */
  now(): number;
  /** Whether this worker is about to stop: long activities then hand over at the next good place. */
  draining(): boolean;
  /** Takes what is measured. */
  readonly meter: Meter;
}
