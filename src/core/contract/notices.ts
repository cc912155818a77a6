import type { ExportPlan } from './steps.js';

/** To the workflow that collects a resource's change notices: something changed. It is a hint without further content. */
export interface ChangeNotice {
  /** Number of notices in this signal. */
  readonly notices: number;
}

/** When a request to a mirror was sent, for a requester that continues as new while it waits; milliseconds. */
export interface Sent {
  readonly first: number;
  readonly last: number;
  /** Time from `last` until the request is sent again. */
  readonly wait: number;
}

/** Change notices of one resource, carried over a continue-as-new. Times are milliseconds since 1970. */
export interface NoticesState {
  readonly connection: string;
  readonly resource: string;
  /** Arrival of the oldest and the newest notice that no requested run covers; `null`: none. */
  readonly pending: { readonly firstAt: number; readonly lastAt: number } | null;
  /** The requested run whose report has not arrived; `null`: none. */
  readonly requested: {
    readonly number: number;
    readonly at: number;
    readonly plan: Pick<ExportPlan, 'giveUpAfterMs' | 'minIntervalMs' | 'alerts'>;
    readonly sent: Sent | null;
  } | null;
  /** No run is requested before this time. */
  readonly restUntil: number;
  /** Number of runs requested so far. */
  readonly runs: number;
}
