import type { ObjectKey, RunId, UtcSeconds } from '../brands.js';
import type { RunMode, RunReport } from './runs.js';

/** Something that somebody asks a mirror for. The same id again is the same request. */
interface Requested {
  readonly requestId: string;
  /** Workflow that wants the answer by signal; `null` for none. */
  readonly replyTo: string | null;
}

/** Read from the service and publish. */
export interface RunRequest extends Requested {
  readonly kind: 'run';
  readonly mode: RunMode;
  /** A full pass that may conclude that records are gone (DESIGN 3.5). */
  readonly reconcile: boolean;
  readonly adopt: boolean;
  readonly allowDeletes: boolean;
  /** What an increment asks the service for in place of the checkpoint; `null`: from the checkpoint on. */
  readonly since: UtcSeconds | null;
  /** Milliseconds since 1970: decides `dt=`. */
  readonly nominalStart: number;
  /** What the configuration wants to be told of; absent: as the mirror heard last. */
  readonly notify?: readonly NotifyEvent[];
}

/** What somebody may be told of: a run that failed, and the first good one after that. */
export type NotifyEvent = 'failure' | 'recovery';

/** Let `latest.json` name an earlier run, and go on from that run's checkpoint. */
export interface RollbackRequest extends Requested {
  readonly kind: 'rollback';
  readonly to: RunId;
}

/** Remove one record from everything that is published. */
export interface PurgeRequest extends Requested {
  readonly kind: 'purge';
  readonly key: readonly string[];
}

export type MirrorRequest = RunRequest | RollbackRequest | PurgeRequest;

/** What the update `sync` asks for: an increment unless it says otherwise. */
export interface SyncInput {
  readonly mode?: RunMode;
  readonly reconcile?: boolean;
  readonly since?: UtcSeconds;
}

export interface SyncAccepted {
  readonly requestId: string;
}

export interface RunAnswer {
  readonly requestId: string;
  readonly report: RunReport;
}

/** Where a run stands, for people who watch it. */
export type RunPhase = 'begin' | 'extract' | 'merge' | 'publish' | 'clean-up' | 'roll-back' | 'purge';

export interface ActiveRun {
  readonly runId: RunId;
  readonly startedAt: number;
  readonly phase: RunPhase;
  readonly mode: RunMode;
  readonly pages: number;
  readonly rows: number;
  /** The failed run whose staged pages this one goes on from. */
  readonly resumed: RunId | null;
}

/** What a mirror knows of the snapshot that it published last. */
export interface Published {
  readonly runId: RunId;
  readonly snapshot: ObjectKey;
  readonly rows: number;
  readonly publishedAt: number;
}

export interface MirrorStatus {
  readonly connection: string;
  readonly resource: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly published: Published | null;
  readonly active: ActiveRun | null;
  readonly waiting: number;
  readonly lastRun: RunReport | null;
}

/** Everything that a mirror carries over a continue-as-new. */
export interface MirrorState {
  readonly connection: string;
  readonly resource: string;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly published: Published | null;
  /**
   * The run whose publishing was begun last and of whose end nothing was heard: if the pointer names it, it is ours.
   */
  readonly publishing: RunId | null;
  /** Whether another mirror won the place that the last run was to be published in. */
  readonly displaced: boolean;
  /** A smaller page size that had to be found, in rows, and the configured one that it stands for; `null`: none. */
  readonly pageSize: { readonly configured: number; readonly learned: number } | null;
  /** When the last run began that could conclude deletes, milliseconds since 1970. */
  readonly reconciledAt: number | null;
  readonly lastRun: RunReport | null;
  /** A failed run whose staged pages the next run may go on from; `null`: none. */
  readonly resumable: RunId | null;
  /** What the configuration wanted to be told of when a run was asked for last; absent: nothing. */
  readonly notify?: readonly NotifyEvent[];
  /** Whether the last run that was not cancelled failed; absent: none did. */
  readonly failing?: boolean;
  readonly waiting: readonly MirrorRequest[];
  /** Newest last; bounded. A request that comes again is answered from here. */
  readonly answered: readonly RunAnswer[];
}
