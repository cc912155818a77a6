import type { ExportPlan } from './steps.js';

/** To the workflow that gathers a resource's change notices: something changed. It is a hint, and says no more. */
export interface ChangeNotice {
  /** How many notices share this signal. */
  readonly notices: number;
}

/** When a question to a mirror was sent, for an asker that continues as new while it waits; milliseconds. */
export interface Sent {
  readonly first: number;
  readonly last: number;
  /** After `last`, until it is sent again. */
  readonly wait: number;
}

/** Change notices of one resource, carried over a continue-as-new. Times are milliseconds since 1970. */
export interface NoticesState {
  readonly connection: string;
  readonly resource: string;
  /** When the oldest and the newest of the notices came that no run satisfies yet; `null`: none. */
  readonly owed: { readonly firstAt: number; readonly lastAt: number } | null;
  /** The run that the mirror was asked for and has not answered; `null`: none. */
  readonly asked: {
    readonly number: number;
    readonly at: number;
    readonly plan: Pick<ExportPlan, 'giveUpAfterMs' | 'minIntervalMs' | 'notify'>;
    readonly sent: Sent | null;
  } | null;
  /** No run is asked for before. */
  readonly restUntil: number;
  /** Runs asked for so far. */
  readonly runs: number;
}
