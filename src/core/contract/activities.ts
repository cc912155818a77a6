import type { EpochMs, ObjectKey, RunId, UtcSeconds } from '../brands.js';
import type { ListDoubt } from '../list-evidence.js';
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
  DeletesProblem,
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

/** Identifies a phase of a run. */
export interface StepRef extends RunRef {
  /** The version of the run's journal that the phase begins with, from 0. */
  readonly step: number;
}

/** Identifies this mirror to the fence (docs/explanation/guarantees.md#one-writer). */
interface Fenced extends RunRef {
  readonly writer: Writer;
  /** The last run that the mirror knows as published; `null` for none. */
  readonly publishedRunId: RunId | null;
  /** As in the mirror's state. */
  readonly displaced: boolean;
}

export interface PreparedRun {
  /** The run in `latest.json`; `null`: nothing is published. */
  readonly base: RunId | null;
  readonly mode: PublishedMode;
  /** Whether the run detects deletes: it then makes a catch-up read and looks for absent records. */
  readonly reconcile: boolean;
  /** Whether a full read also reads the changes since the checkpoint, to see which rows increments miss. Absent: not. */
  readonly comparesIncrements?: true;
  /** Whether the run is an audit, of the whole list or of a sample that is read by id. Absent: it is none. */
  readonly audit?: 'list' | 'sample';
  /**
   * Whether the list of a full read that does not look for deletes should have records, so that one without any is noticed. Absent:
   * not, or not known.
   */
  readonly expectsRecords?: true;
  /** How deletes are confirmed: by reading each absent record by id, or by a second pass. */
  readonly proof: 'by-id' | 'second-pass';
  /** Whether the list has a window. A record that has left it is absent from each pass, so a second pass cannot replace `by-id`. */
  readonly hasWindow: boolean;
  /** The configured size, in rows. */
  readonly pageSize: number;
  readonly giveUpAfterMs: number;
  /** Staged pages of an earlier failed run, which this run resumes from. */
  readonly resumed: { readonly runId: RunId; readonly extracted: ReadResult } | null;
  /** The rows of a rollback's target, as a complete reading; `null`: the run reads the service. */
  readonly rollback: ReadResult | null;
  /** Whether the resource has a table (docs/explanation/delta-tables.md). */
  readonly table: boolean;
  /** The workflow to start when the run is published; `null` for none. */
  readonly onPublished: PublishedHook | null;
}

export interface ReadInput extends StepRef {
  readonly pageSize: number | null;
  readonly read: ListRead;
  /** What earlier calls of this run have spent of the budget for words about a limit. Absent: nothing. */
  readonly words?: WordsSpent;
}

/**
 * One read of the list from start to end. A catch-up reads the changes since the start of the previous read
 * (docs/explanation/guarantees.md#deletes).
 */
export interface ListRead {
  /** From 0 within the run. */
  readonly number: number;
  readonly kind: 'list' | 'catch-up';
}

export interface ReadResult {
  readonly done: boolean;
  /** Totals over all calls of this run. */
  readonly pages: number;
  readonly rows: number;
  /** Records without a key, in `rows` too. */
  readonly quarantined: number;
  readonly pageSize: number;
  /** Whether the list shifted during this read (docs/explanation/guarantees.md#full-reads). */
  readonly shifted: boolean;
  /** Whether a reading of the whole list got an empty body. Such a reading concludes no deletes. */
  readonly isBlank: boolean;
  /** Why readings of this run may lack records. Absent: none does. */
  readonly doubts?: readonly ListDoubt[];
  /** As in the input, after this call. */
  readonly words?: WordsSpent;
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
  /** As in the input, for the next attempt. Absent: as the input says. */
  readonly words?: WordsSpent;
  /** Absent: a build without it has sent this. */
  readonly deaths?: WorkerDeaths;
}

/**
 * Keys of records in the journal: those that the list no longer shows; of them, those that are deleted, or have to be absent once
 * more, according to their ids; and those that are deleted because they were absent again.
 */
export type KeyList = 'absent' | 'gone-by-id' | 'again' | 'gone';

export interface FindAbsentInput extends StepRef {
  /** Only records that this read or a later one fetched count as present. */
  readonly sinceRead: number;
  /** Checks only these records; `null`: all rows of the previous snapshot. */
  readonly among: KeyList | null;
  /** Deletes that are proven. They become a part of the result. Absent: none. */
  readonly proven?: KeyList;
  /** Whether many absent records are plausible although the list is empty. */
  readonly allowDeletes: boolean;
  /** Whether the absent records are only counted. Absent: they are also in the result. */
  readonly onlyCounts?: true;
}

/** A list in the journal. */
export interface KeysFound {
  readonly keys: KeyList;
  readonly count: number;
}

/** Live rows of the base snapshot that no reading has returned. */
export interface AbsentRecords extends KeysFound {
  /** Why absence says nothing about this resource; `count` is then 0. Absent: it does. */
  readonly problem?: DeletesProblem;
  /** Whether the readings of the list returned no record at all. Absent: they returned some. */
  readonly listIsEmpty?: true;
  /** Live rows of the previous snapshot that the list should show: those whose absence can mean a delete. */
  readonly expected: number;
}

export interface ConfirmDeletesInput extends StepRef {
  readonly among: KeyList;
  readonly allowDeletes: boolean;
}

/** The absent records that are deleted. */
export interface ConfirmedDeletes extends KeysFound {
  /** Records whose deletion the service neither confirmed nor ruled out. */
  readonly unproven: number;
  /** Records that count as deleted only if a second pass does not list them, either. Absent: none. */
  readonly again?: KeysFound;
  /**
   * Whether the endpoint has found a record that exists. Otherwise its 404 proves nothing, and `count` is 0
   * (docs/explanation/guarantees.md#deletes).
   */
  readonly works: boolean;
  /** Absent records that exist, and whose values by id were not taken: whether a listed record was compared, and differs. Absent: none. */
  readonly untaken?: { readonly records: number; readonly isCompared: boolean };
  /** What the run has read, with the records that only the endpoint has shown. Absent: as before. */
  readonly read?: ReadResult;
}

export interface PlanMergeInput extends StepRef {
  /** Number of the merge within the run, from 0. Each reread leads to another merge. */
  readonly pass: number;
  /** The records whose deletion is confirmed. */
  readonly gone: KeyList | null;
  /** Of so many rows that the list should show. */
  readonly expected: number;
  readonly allowDeletes: boolean;
}

export interface MergePlanned {
  /** Number of batches. Each batch is one activity. */
  readonly batches: number;
  /** As in `ShiftSigns`, for rows that are known before the merge. */
  readonly repeated: number;
}

export interface MergePartsInput extends StepRef {
  readonly pass: number;
  readonly batch: number;
}

/** Signs in a merge that the list shifted during its last read (docs/explanation/guarantees.md#full-reads). */
export interface ShiftSigns {
  /** Rows whose key is repeated in the chain of pages of that read. */
  readonly repeated: number;
  /** Rows that no other read of the run fetched. */
  readonly found: number;
}

export interface MergedParts extends ShiftSigns {
  /** Differences of an audit that have to be read once more before they count. Absent: none. */
  readonly open?: number;
}

export interface PublishInput extends StepRef {
  /** Whether the list also shifted during the last reread, so that rows may be missing. */
  readonly shifted: boolean;
  /** Records whose deletion could not be confirmed. */
  readonly unproven: number;
  /** Why deletes could not be concluded. Absent: the run did not look for deletes. */
  readonly deletesProblems?: readonly DeletesProblem[];
  /** Rows that the list should show, although it is empty, of a run that did not look for deletes. Absent: none. */
  readonly emptied?: number;
  /** As in `PlanMergeInput`, for rows that records delete that say so. Absent: not, and not known. */
  readonly allowDeletes?: boolean;
  readonly expected?: number;
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

/** How the activity of a whole run ended. */
export type RunDone =
  /** The run is too large, or has to wait: it continues in the lake, under the run id of the input. */
  | { readonly kind: 'spilled'; readonly prepared: PreparedRun }
  /** A dry run has ended. */
  | { readonly kind: 'previewed'; readonly run: Previewed | Audited }
  | RunPublished;

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
export interface RunPublished extends Pick<PreparedRun, 'table' | 'onPublished'> {
  readonly kind: 'published';
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

/** Activities by registered name. The prefix avoids clashes with other activities of the same worker. */
export interface Activities extends WriteBackActivities {
  'worktrack.planExport'(input: ExportInput): Promise<ExportPlan>;
  'worktrack.run'(input: RunInput): Promise<RunDone>;
  'worktrack.read'(input: ReadInput): Promise<ReadResult>;
  'worktrack.settle'(input: FindAbsentInput): Promise<AbsentRecords>;
  'worktrack.settleById'(input: ConfirmDeletesInput): Promise<ConfirmedDeletes>;
  'worktrack.mergePlan'(input: PlanMergeInput): Promise<MergePlanned>;
  'worktrack.merge'(input: MergePartsInput): Promise<MergedParts>;
  'worktrack.publish'(input: PublishInput): Promise<PublishedRun>;
  'worktrack.preview'(input: PublishInput): Promise<Previewed | Audited>;
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
