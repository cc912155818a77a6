import type { EpochMs, ObjectKey, RunId, UtcSeconds } from '../brands.js';
import type { Removal } from '../removal.js';
import type { WordsSpent } from '../unproven-limits.js';
import type { Warning } from '../warnings.js';
import type { WorkerDeaths } from '../worker-deaths.js';
import type { AlertSent, ReportAlertsInput, SendAlertInput, WatchInput } from './alerts.js';
import type { MirrorState, Published, RunRequest, Writer } from './mirror-state.js';
import type {
  AnnounceInput,
  AuditReport,
  AuditRequest,
  DeleteDetection,
  DryRunReport,
  ExportInput,
  ExportPlan,
  PublishedHook,
  PublishedMode,
  PurgeCounts,
  RunCounts,
  RunRecord,
  StartedOnPublished,
  StartOnPublishedInput,
} from './run-reports.js';
import type { WriteBackActivities } from './write-back.js';

/** Identifies a run to an activity. */
export interface RunRef {
  readonly connection: string;
  readonly resource: string;
  readonly runId: RunId;
  /** Whether it is a dry run, which writes only below its staging folder. Absent: no. */
  readonly isDry?: true;
}

/** A phase of a run, as its activity is named. */
export type PhaseName = 'read' | 'settle' | 'settleById' | 'mergePlan' | 'merge' | 'publish' | 'preview';

/** Identifies a phase of a run. What the run has decided is in its journal. */
export interface PhaseRef extends RunRef {
  /** The version of the journal that the phase begins with, from 0. */
  readonly step: number;
  /** Of a merge: the batch, from 0. Other phases have one. */
  readonly batch: number;
}

/** The phase that follows. */
export interface NextPhase {
  readonly kind: 'next';
  readonly phase: PhaseName;
  /** As in `PhaseRef`. */
  readonly step: number;
  /** Each is a separate activity. */
  readonly batches: number;
  /** What the phase does, for people. */
  readonly summary: string;
  /** What the run has read so far. */
  readonly pages: number;
  readonly rows: number;
}

/** Identifies this mirror to the fence (docs/explanation/guarantees.md#one-writer). */
interface Fenced extends RunRef {
  readonly writer: Writer;
  /** The last run that the mirror knows as published; `null` for none. */
  readonly publishedRunId: RunId | null;
  /** As in the mirror's state. */
  readonly displaced: boolean;
}

/** A store limits the requests of a step, for example with 503 SlowDown. */
export interface StoreLimitNote {
  /** Of the first limited request since the last minute without one. */
  readonly since: EpochMs;
  /** The store's words. */
  readonly said: string;
}

/** A document in the staging folder of a run that a worker cannot read. */
export interface UnreadDocument {
  /** Its key. */
  readonly object: ObjectKey;
  /** Its layout; `null`: it is damaged, or has none. */
  readonly layout: number | null;
}

/** Heartbeat details of steps that save no position, and a part of those of other steps. */
export interface StepHeartbeat {
  /** Since when no attempt could read what the run has staged, on Temporal's clock. Absent: the last one could. */
  readonly unreadSince?: EpochMs;
  /** Absent: the store limits no requests. */
  readonly storeLimit?: StoreLimitNote;
  /** Of a merge: rows of its new parts so far. Absent: none. */
  readonly mergedRows?: number;
  /** Of a rollback: how much of the head it has read. Absent: nothing. */
  readonly checkedHead?: CheckedHead;
}

/** How much of the head a rollback has read, so that its next attempt continues there. */
export interface CheckedHead {
  /** Version of the pointer. */
  readonly etag: string;
  /** The first parts of its snapshot that were read. */
  readonly parts: number;
  /** Places of those that are damaged. */
  readonly damaged: readonly number[];
}

/** Heartbeat details of the phase `read`: the last staged position, for a retry and for display. */
export interface ReadHeartbeat extends StepHeartbeat {
  readonly stage: ObjectKey | null;
  readonly pages: number;
  readonly rows: number;
  /** The service allows no request before this time; `null`: any time. */
  readonly waitingUntil: EpochMs | null;
  /** What the run has spent of the budget for words about a limit, for the next attempt. Absent: as the journal says. */
  readonly words?: WordsSpent;
  /** Absent: a build without it has sent this. */
  readonly deaths?: WorkerDeaths;
}

export interface PublishedRun
  extends Pick<Published, 'snapshot' | 'publishedAt' | 'checks' | 'missed'>,
    Pick<RunRecord, 'warnings' | 'schemaChanges' | 'rolledBackFrom'> {
  /** The run that was published, if it is another attempt with its own id. */
  readonly runId?: RunId;
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
  readonly counts: RunCounts;
  readonly deletes: DeleteDetection;
}

/** What a request wants of its run, without who sends it and how urgent it is. */
type Wanted = Omit<RunRequest, 'kind' | 'requestId' | 'replyTo' | 'alertedBy' | 'background'>;

/**
 * A whole run in one activity, as far as it fits into memory (docs/explanation/how-it-works.md#in-memory-or-in-the-lake): the
 * request, and its mirror's state.
 */
export interface RunInput
  extends Fenced,
    Wanted,
    Pick<MirrorState, 'checkpoint' | 'resumable' | 'pageSize' | 'hookedTo'> {
  /** The run whose rows a rollback publishes; `null`: the run reads the service. */
  readonly rollbackTo: RunId | null;
  readonly startedAt: number;
  /** The run of this request that could not be continued: a warning of the run. Absent: there is none. */
  readonly notContinued?: UnreadDocument & Pick<RunRef, 'runId'>;
  /** What the store refused to remove in the last sweep: a warning of the run. Absent: nothing. */
  readonly refused?: Removal;
  /** The sweep that the run makes after it is published. Absent: none is due. */
  readonly sweep?: RunSweep;
}

/** A run that is too large, or has to wait: it continues in the lake, under the run id of the input. */
export interface RunSpilled {
  readonly kind: 'spilled';
  readonly next: NextPhase;
  readonly mode: PublishedMode;
  /** The failed run whose pages it has taken over; `null`: none. */
  readonly resumed: RunId | null;
  readonly giveUpAfterMs: number;
  /** As in the mirror's state: this is known before the run is published, so that the run gets its workflow even if its result is lost. */
  readonly hookedTo: MirrorState['hookedTo'];
}

/** How a run ended: it is published, or was a dry run. */
export type RunEnded = RunPublished | { readonly kind: 'previewed'; readonly run: Previewed | Audited };

/** What a phase answers. */
export type PhaseEnded = NextPhase | RunEnded;

/** What a dry run reports. */
export type Previewed = Pick<PublishedRun, 'counts' | 'warnings' | 'schemaChanges' | 'deletes' | 'checks'> & {
  readonly dryRun: DryRunReport;
};

/** The audits of all resources that one command or Schedule requested. */
export interface WriteAuditInput {
  readonly connection: string;
  /** The end of the audit. */
  readonly at: EpochMs;
  readonly request: AuditRequest;
  readonly runs: readonly RunRecord[];
}

/** What an audit reports. */
export interface Audited {
  readonly audit: AuditReport;
}

/** A run that is published, in one activity or in several. */
export interface RunPublished {
  readonly kind: 'published';
  /** Whether the resource has a table (docs/explanation/delta-tables.md). */
  readonly table: boolean;
  /** The workflow to start when the run is published; `null` for none. */
  readonly onPublished: PublishedHook | null;
  /** This attempt's own run id, or that of an earlier attempt that published the run. */
  readonly runId: RunId;
  readonly run: PublishedRun;
  /** Page sizes in rows: the configured one and the one in use; `null` if the run does not show what the service accepts. */
  readonly pageSize: { readonly configured: number; readonly used: number } | null;
  /** The sweep after the run; `null`: none was due, or it failed. `to do`: it has to follow. */
  readonly swept: 'to do' | (Pick<RunSweep, 'before'> & Pick<Swept, 'isDone' | 'refused'>) | null;
}

/** The sweep that the activity of a whole run makes. */
export interface RunSweep {
  /** As in `SweepInput`. */
  readonly before: RunId | null;
  /** The last run, if it failed: it can no longer be published after this one. */
  readonly ended: readonly RunId[];
  /** `published`: only the trees of published runs, because nothing else can have garbage. `all`: also `_staging/`. */
  readonly scope: 'published' | 'all';
}

/** A sweep of a resource (docs/internals/recovery.md#sweep), after a run or a purge. */
export interface SweepInput extends Fenced {
  /** The run that failed before the published one, and ids of the published run's request that were not published. */
  readonly replaced: readonly RunId[];
  /** Run id of a purge: no object of an unpublished run that began before it may remain. `null`: there was none. */
  readonly before: RunId | null;
}

/** What a sweep has removed. */
export interface Swept {
  /** Folders of runs in `snapshots/` and `changes/`. */
  readonly folders: number;
  /** Folders in `_staging/`. */
  readonly staged: number;
  /** Parts and indexes that are in no manifest. */
  readonly strays: number;
  readonly uploads: number;
  /** Whether nothing is left for the next sweep, apart from what the store refused to remove. */
  readonly isDone: boolean;
  readonly refused: Removal;
}

/** Removes what a run has written that cannot have been published. */
export interface DiscardRunInput extends RunRef {
  readonly nominalStart: EpochMs;
  /** Whether the next run may resume from its staging folder, which is then kept. */
  readonly staging: 'kept' | 'removed';
}

/** The table of a resource shows the snapshot in `latest.json`. */
export interface TableFollowed {
  /** The newest version of the table. */
  readonly version: number;
  readonly warnings: readonly Warning[];
}

export interface PurgeRecordInput extends Fenced {
  readonly key: readonly string[];
}

export interface RecordPurged {
  /** The snapshot in `latest.json`, with its new row count; `null`: nothing is published. */
  readonly published: Published | null;
  readonly checkpoint: { readonly updatedSince: UtcSeconds } | null;
  readonly purged: PurgeCounts;
}

/** Each phase of a run in the lake is an activity. */
type Phases = { [Name in PhaseName as `worktrack.${Name}`]: (input: PhaseRef) => Promise<PhaseEnded> };

/** Activities by registered name. The prefix avoids clashes with other activities of the same worker. */
export interface Activities extends WriteBackActivities, Phases {
  'worktrack.planExport'(input: ExportInput): Promise<ExportPlan>;
  'worktrack.run'(input: RunInput): Promise<RunSpilled | RunEnded>;
  'worktrack.writeAudit'(input: WriteAuditInput): Promise<{ readonly statement: ObjectKey }>;
  'worktrack.sweep'(input: SweepInput): Promise<Swept>;
  'worktrack.sweepFailedRun'(input: DiscardRunInput): Promise<void>;
  'worktrack.purgeRecord'(input: PurgeRecordInput): Promise<RecordPurged>;
  'worktrack.followTable'(input: RunRef): Promise<TableFollowed>;
  'worktrack.followOnPublished'(input: StartOnPublishedInput): Promise<StartedOnPublished>;
  'worktrack.reportAlerts'(input: ReportAlertsInput): Promise<void>;
  'worktrack.watch'(input: WatchInput): Promise<void>;
  'worktrack.notify'(input: SendAlertInput): Promise<AlertSent>;
  'worktrack.announce'(input: AnnounceInput): Promise<void>;
}
