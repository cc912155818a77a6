import type { EpochMs, Millis, ObjectKey, RunId, UtcSeconds } from '../brands.js';
import type { Removal } from '../removal.js';
import type { StoredWarning } from '../warnings.js';
import type {
  DryRunRequest,
  ExportPlan,
  PublishedMode,
  RunMode,
  RunRecord,
  RunReport,
} from './run-reports.js';

/** Common fields of the requests to a mirror. A repeated id is the same request. */
interface Requested {
  readonly requestId: string;
  /** Id of the workflow that gets the answer by signal; `null`: none. */
  readonly replyTo: string | null;
}

/** Read from the service and publish. */
export interface RunRequest extends Requested {
  readonly kind: 'run';
  readonly mode: RunMode;
  /** A full pass that also detects deletes (docs/explanation/guarantees.md#deletes). */
  readonly reconcile: boolean;
  readonly adopt: boolean;
  readonly allowDeletes: boolean;
  /** The user says that the API key, which may be new, belongs to the organization of the lake; absent: it has to be shown. */
  readonly adoptOrganization?: true;
  /** The user who accepts failed checks, so that the run is published in spite of them; absent: no one. */
  readonly acceptChecks?: string;
  /** Start of an increment, instead of the checkpoint; `null`: the checkpoint. */
  readonly since: UtcSeconds | null;
  /** Determines `dt=`. */
  readonly nominalStart: EpochMs;
  /** The sender reports this run for alerts, together with those of other resources; absent: the mirror does. */
  readonly alertedBy?: 'sender';
  /** Do everything but publish. Absent: publish. */
  readonly dryRun?: DryRunRequest;
  /** A Schedule or a change notice requested the run, so it gives way to work that someone waits for. */
  readonly background?: true;
}

/** Publish the rows of an earlier run as a new run, with that run's checkpoint. */
export interface RollbackRequest extends Requested {
  readonly kind: 'rollback';
  readonly to: RunId;
}

/** Remove one record from all published objects. */
export interface PurgeRequest extends Requested {
  readonly kind: 'purge';
  readonly key: readonly string[];
}

export type MirrorRequest = RunRequest | RollbackRequest | PurgeRequest;

/** Input of the update `sync`. Default: an increment. */
export interface SyncInput {
  readonly mode?: RunMode;
  readonly reconcile?: boolean;
  /** As in `BackfillInput`. */
  readonly since?: string;
}

export interface SyncAccepted {
  readonly requestId: string;
}

export interface RunAnswer {
  readonly requestId: string;
  readonly report: RunRecord;
}

/** Progress of a run, for display. */
export type RunPhase = 'prepare' | 'read' | 'settle' | 'merge' | 'publish' | 'follow' | 'sweep' | 'purge';

export interface ActiveRun {
  readonly runId: RunId;
  readonly startedAt: number;
  readonly phase: RunPhase;
  readonly mode: PublishedMode;
  readonly pages: number;
  readonly rows: number;
  /** The failed run whose staged pages this run resumes from. */
  readonly resumed: RunId | null;
}

/** The mirror that wrote an object of the lake (docs/explanation/guarantees.md#one-writer). */
export interface Writer {
  /** Id of the first execution of the mirror's workflow. It stays the same across continue-as-new and reset. */
  readonly workflow: string;
  readonly namespace: string;
}

/** The snapshot that a mirror last published. */
export interface Published extends Pick<RunRecord, 'deletes' | 'checks'> {
  readonly runId: RunId;
  readonly snapshot: ObjectKey;
  readonly rows: number;
  readonly publishedAt: number;
  /** Rows that the last full read found changed, and that no increment had shown; absent: not known. */
  readonly missed?: number;
}

export interface MirrorStatus extends Pick<MirrorState, 'connection' | 'resource' | 'checkpoint'> {
  readonly lastRun: RunReport | null;
  readonly writer: Writer;
  readonly published: Published | null;
  readonly active: ActiveRun | null;
  readonly waiting: number;
  /** `null` if the configured page size is in use. */
  readonly pageSize: LearnedPageSize | null;
  /** Why the table does not show the published run yet; absent: it does, or there is no table. */
  readonly tableWarning?: string;
}

/** A smaller page size, found because the service rejects the configured one or fails at it; both in rows. */
export interface LearnedPageSize {
  readonly configured: number;
  readonly learned: number;
}

/** The next sweep of a mirror. */
export interface SweepDue {
  /** When it is due. */
  readonly at: EpochMs;
  /**
   * Run id of the last purge, until a sweep has removed what late requests of earlier runs may have left: the mirror then
   * sweeps by itself when it is due, even if no run follows. `null`: the next run that is published when it is due sweeps.
   */
  readonly before: RunId | null;
  /** What the store refused to remove in the last sweep; `null`: nothing. */
  readonly refused: Removal | null;
}

/** The last published run, in its mirror's state. */
export interface PublishedState extends Published {
  /** Why the table does not show the run yet; `null`: it does, or there is no table. */
  readonly tableWarning: StoredWarning | null;
}

/** The state that a mirror carries over a continue-as-new. */
export interface MirrorState {
  readonly connection: string;
  readonly resource: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  /** `null`: this mirror has published nothing. */
  readonly published: PublishedState | null;
  /** The next sweep (docs/internals/recovery.md#sweep). `null`: it is due. */
  readonly sweepAt: SweepDue | null;
  /** Whether another mirror published instead of this mirror's last run. */
  readonly displaced: boolean;
  /** `null`: the configured page size is in use. `runs`: number of runs published since a larger page was last tried. */
  readonly pageSize: (LearnedPageSize & { readonly runs: number }) | null;
  readonly lastRun: RunRecord | null;
  /** A failed run whose staged pages the next run may resume from; `null`: none. */
  readonly resumable: RunId | null;
  /**
   * The last run of the chain that the workflow of `onPublished` was started for; `beginning`: the first run of the chain is
   * the next. `null`: the configuration names no such workflow.
   */
  readonly hookedTo: RunId | 'beginning' | null;
  readonly waiting: readonly MirrorRequest[];
  /** Newest last; bounded. A repeated request gets its answer from here. */
  readonly answered: readonly RunAnswer[];
}

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

/** Change notices of one resource, carried over a continue-as-new. */
export interface NoticesState {
  readonly connection: string;
  readonly resource: string;
  /** Arrival of the oldest and the newest notice that no requested run covers; `null`: none. */
  readonly pending: { readonly firstAt: EpochMs; readonly lastAt: EpochMs } | null;
  /** The requested run whose report has not arrived; `null`: none. */
  readonly requested: {
    readonly number: number;
    readonly at: EpochMs;
    readonly plan: Pick<ExportPlan, 'giveUpAfterMs' | 'minIntervalMs' | 'alerts'>;
    readonly sent: Sent | null;
  } | null;
  /** No run is requested before this time. */
  readonly restUntil: EpochMs;
  /** Number of runs requested so far. */
  readonly runs: number;
  /** A run is requested once no notice has arrived for this long. Absent: 5,000. */
  readonly quietMs?: Millis;
}
